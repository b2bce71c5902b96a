#include <string>
#include <vector>

#include "mangrove/graph/broadcast.h"
#include "mangrove/graph/einsum_equation.h"
#include "mangrove/graph/gemm_geometry.h"
#include "mangrove/graph/matmul_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"

namespace mangrove::rows {
namespace {

Result<std::vector<ValueInfo>> infer(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1, 2}));
  MG_TRY(const GemmGeometry geometry, gemm_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape));
  const Shape output{geometry.m, geometry.n};
  if (const ValueInfo* bias = optional_input(inputs, 2); bias != nullptr) {
    const Result<Shape> together = broadcast(bias->shape, output);
    if (!together.ok() || *together != output) {
      return make_error(Code::invalid_argument,
                        "bias " + to_string(bias->shape) + " does not broadcast to the result " + to_string(output));
    }
  }
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, output}};
}

// The bias is where the accumulators start, so it costs no operation.
OperatorCost cost(const Node& node, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const GemmGeometry geometry = gemm_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape).value();
  return elementwise_cost(inputs, outputs, 2 * static_cast<double>(geometry.k), {0, 1, 2});
}

/// Gemm: Y = alpha op(A) op(B) + beta C, see GemmGeometry; C is optional and broadcast to [m, n].
Operator gemm() {
  using enum Operator::AttributeKind;
  return {.type = "Gemm",
          .min_inputs = 2,
          .max_inputs = 3,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"alpha", real}, {"beta", real}, {"transA", integer}, {"transB", integer}},
          .parameters = {0, 1, 2},
          .infer = infer,
          .cost = cost};
}

Result<std::vector<ValueInfo>> infer_matmul(const Node&, const OperatorInputs& inputs) {
  const DType dtype = inputs.values[0]->dtype;
  const bool is_integer = dtype == DType::i32 || dtype == DType::i64;
  if (!is_integer) MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1}));
  if (inputs.values[1]->dtype != dtype) {
    return make_error(Code::invalid_argument, std::string("inputs have types ") + dtype_name(dtype) + " and " +
                                                  dtype_name(inputs.values[1]->dtype) + ", expected the same");
  }
  MG_TRY(MatMulGeometry geometry, matmul_geometry(inputs.values[0]->shape, inputs.values[1]->shape));
  return std::vector<ValueInfo>{{dtype, std::move(geometry.output)}};
}

OperatorCost matmul_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const Shape& a = inputs.values[0]->shape;
  return elementwise_cost(inputs, outputs, 2 * static_cast<double>(a[a.rank() - 1]), {0, 1});
}

/// MatMul: Y[m, n] = A[m, k] B[k, n], for each pair of matrices of two stacks, see MatMulGeometry.
Operator matmul() {
  return {.type = "MatMul",
          .min_inputs = 2,
          .max_inputs = 2,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {},
          .parameters = {0, 1},
          .infer = infer_matmul,
          .cost = matmul_cost};
}

Result<EinsumEquation> equation_of(const Node& node, const OperatorInputs& inputs) {
  std::vector<Shape> shapes;
  for (const ValueInfo* input : inputs.values) {
    if (input == nullptr) return make_error(Code::invalid_argument, "an input is left out, but none is optional");
    shapes.push_back(input->shape);
  }
  return einsum_equation(node.string_or("equation", ""), shapes);
}

Result<std::vector<ValueInfo>> infer_einsum(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_types(inputs, {DType::f32, DType::f64}));
  MG_TRY(const EinsumEquation equation, equation_of(node, inputs));
  return std::vector<ValueInfo>{{inputs.values[0]->dtype, equation.output()}};
}

// A product of all operands for each combination of the letters.
OperatorCost einsum_cost(const Node& node, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const EinsumEquation equation = equation_of(node, inputs).value();
  OperatorCost cost = traffic(inputs, outputs, {0, 1, 2, 3, 4, 5, 6, 7});
  cost.flops = static_cast<double>(inputs.values.size());
  for (const std::int64_t size : equation.sizes) cost.flops *= static_cast<double>(size);
  return cost;
}

/// Einsum: the sums of products that attribute `equation` says, as numpy has them: "bhid,bhjd->bhij".
Operator einsum() {
  return {.type = "Einsum",
          .min_inputs = 1,
          .max_inputs = 8,
          .min_outputs = 1,
          .max_outputs = 1,
          .attributes = {{"equation", Operator::AttributeKind::string}},
          .parameters = {0, 1, 2, 3, 4, 5, 6, 7},
          .mixes_samples = true,
          .infer = infer_einsum,
          .cost = einsum_cost};
}

}  // namespace

std::vector<Operator> products() {
  return {einsum(), gemm(), matmul()};
}

}  // namespace mangrove::rows
