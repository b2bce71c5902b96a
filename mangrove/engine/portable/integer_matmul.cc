#include <algorithm>

#include "mangrove/engine/portable/matrix.h"
#include "mangrove/engine/portable/products.h"
#include "mangrove/engine/portable/quantization.h"
#include "mangrove/graph/matmul_geometry.h"

namespace mangrove::portable {
namespace {

using Int = std::int32_t;
using Wrapping = std::uint32_t;  // sums of very many products wrap around, which signed integers must not

/// Positions of a node's inputs: MatMulInteger(a, b, a zero, b zero); QLinearMatMul(a, a scale, a zero, b, b scale, b
/// zero, y scale, y zero).
struct Inputs {
  explicit Inputs(const KernelRequest& request) {
    requantizes = request.node.op == "QLinearMatMul";
    a = 0;
    b = requantizes ? 3 : 1;
    a_zero = 2;
    b_zero = requantizes ? 5 : 3;
  }
  bool requantizes;
  std::size_t a, b, a_zero, b_zero;
};

/// x - zero point in 32 bits.
template <class T>
void widen(const T* x, const T* zero_point, std::int64_t elements, Wrapping* out) {
  const Int zero = zero_point == nullptr ? 0 : *zero_point;
  for (std::int64_t i = 0; i < elements; ++i) out[i] = static_cast<Wrapping>(x[i] - zero);
}

/// Everything of one node that its step needs.
struct IntegerMatmulProduct {
  explicit IntegerMatmulProduct(const MatMulGeometry& g)
      : m(g.m),
        k(g.k),
        n(g.n),
        a_elements(g.stack_a.elements() * g.m * g.k),
        b_elements(g.stack_b.elements() * g.k * g.n),
        y_elements(g.stack.elements() * g.m * g.n),
        a(matrices_met(g.stack_a, g.stack)),
        b(matrices_met(g.stack_b, g.stack)) {}

  void multiply(const Wrapping* of_a, const Wrapping* of_b, Wrapping* y) const {
    std::fill_n(y, y_elements, 0);
    for (std::size_t i = 0; i < a.size(); ++i, y += m * n) {
      multiply_add(m, n, k, Wrapping(1), matrix(of_a + a[i] * m * k, m, k), matrix(of_b + b[i] * k * n, k, n), y);
    }
  }

  std::int64_t m, k, n;
  std::int64_t a_elements, b_elements, y_elements;
  std::vector<std::int64_t> a, b;  // per matrix of the result
};

template <class A, class B>
NodeKernels integer_matmul_kernels(const KernelRequest& request, const IntegerMatmulProduct& product) {
  const Inputs in(request);
  OperandList operands;
  const auto input = [&](std::size_t i) {
    return operands.add_if(has_input(request, i), [&] { return read_value(request.node.inputs[i]); });
  };
  const std::size_t a = input(in.a), b = input(in.b), a_zero = input(in.a_zero), b_zero = input(in.b_zero);
  const std::size_t y = operands.add(write_value(request.output_names[0]));
  const Bytes workspace = static_cast<Bytes>(sizeof(Int)) * (product.a_elements + product.b_elements);
  NodeKernels kernels;
  kernels.forward.push_back(make_step_with_workspace(
      request, "forward", operands.take(), workspace, [=](const Buffers& buffers, std::byte* scratch) {
        Wrapping* const wide_a = reinterpret_cast<Wrapping*>(scratch);
        Wrapping* const wide_b = wide_a + product.a_elements;
        widen(buffers.as<const A>(a), buffers.as<const A>(a_zero), product.a_elements, wide_a);
        widen(buffers.as<const B>(b), buffers.as<const B>(b_zero), product.b_elements, wide_b);
        product.multiply(wide_a, wide_b, buffers.as<Wrapping>(y));
      }));
  return kernels;
}

template <class A, class B, class Y>
NodeKernels quantized_matmul_kernels(const KernelRequest& request, const IntegerMatmulProduct& product) {
  std::vector<Operand> operands;
  for (const std::string& name : request.node.inputs) operands.push_back(read_value(name));
  operands.push_back(write_value(request.output_names[0]));
  const Bytes workspace =
      static_cast<Bytes>(sizeof(Int)) * (product.a_elements + product.b_elements + product.y_elements);
  NodeKernels kernels;
  kernels.forward.push_back(make_step_with_workspace(
      request, "forward", std::move(operands), workspace, [=](const Buffers& buffers, std::byte* scratch) {
        Wrapping* const wide_a = reinterpret_cast<Wrapping*>(scratch);
        Wrapping* const wide_b = wide_a + product.a_elements;
        Wrapping* const sums = wide_b + product.b_elements;
        widen(buffers.as<const A>(0), buffers.as<const A>(2), product.a_elements, wide_a);
        widen(buffers.as<const B>(3), buffers.as<const B>(5), product.b_elements, wide_b);
        product.multiply(wide_a, wide_b, sums);
        const float scale = *buffers.as<const float>(1) * *buffers.as<const float>(4) / *buffers.as<const float>(6);
        for (std::int64_t i = 0; i < product.y_elements; ++i) {
          const auto sum = static_cast<float>(static_cast<Int>(sums[i]));
          buffers.as<Y>(8)[i] = quantized(sum * scale, *buffers.as<const Y>(7));
        }
      }));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_integer_matmul(const KernelRequest& request) {
  const Inputs in(request);
  MG_TRY(const MatMulGeometry geometry, matmul_geometry(request.inputs[in.a].shape, request.inputs[in.b].shape));
  const IntegerMatmulProduct product(geometry);
  return for_byte_types(request.inputs[in.a].dtype, request.inputs[in.b].dtype,
                        [&](auto a, auto b) -> Result<NodeKernels> {
                          using A = decltype(a);
                          using B = decltype(b);
                          if (!in.requantizes) return integer_matmul_kernels<A, B>(request, product);
                          return for_byte_types(request.outputs[0].dtype, request.outputs[0].dtype, [&](auto y, auto) {
                            return quantized_matmul_kernels<A, B, decltype(y)>(request, product);
                          });
                        });
}

}  // namespace mangrove::portable
