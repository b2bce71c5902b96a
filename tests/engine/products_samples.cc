#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

namespace {

OperatorSample einsum(const std::string& name, const std::string& equation, std::vector<SampleInput> operands) {
  return {"Einsum_" + name, "Einsum", std::move(operands), {{"equation", equation}}};
}

}  // namespace

std::vector<OperatorSample> products() {
  const std::int64_t one = 1;
  return {
      einsum("attention", "bhid,bhjd->bhij", {fed({kBatch, 2, 5, 3}), fed({kBatch, 2, 4, 3})}),
      einsum("linear", "nhc, cd -> nhd", {fed({kBatch, 5, 3}), parameter({3, 4})}),
      einsum("two_summed", "bijc,ijcd->bd", {fed({kBatch, 2, 3, 4}), parameter({2, 3, 4, 5})}),
      einsum("relative_position", "bhwd,hkd->bhwk", {fed({kBatch, 3, 4, 2}), parameter({3, 5, 2})}),
      einsum("ellipsis", "...ij,...jk", {fed({kBatch, 2, 3, 4}), fed({2, 4, 5})}),
      einsum("ellipsis_of_one", "...i,...i->...", {fed({kBatch, 1, 4}), fed({3, 4})}),
      einsum("three", "bi,ij,bj->b", {fed({kBatch, 3}), parameter({3, 4}), fed({kBatch, 4})}),
      einsum("outer", "bi,bj->bij", {fed({kBatch, 3}), fed({kBatch, 4})}),
      einsum("turned", "bij->jbi", {fed({kBatch, 3, 4})}),
      einsum("sums", "bij->j", {fed({kBatch, 3, 4})}),
      einsum("implicit", "ca,bc", {fed({5, 3}), fed({kBatch, 5})}),
      einsum("of_same", "bi,bi->", {fed({kBatch, 3}), fed({kBatch, 3})}),
      {"Gemm_plain", "Gemm", {fed({kBatch, 5}), parameter({5, 4}), parameter({4})}},
      {"Gemm_no_bias", "Gemm", {fed({kBatch, 5}), parameter({5, 4})}},
      {"Gemm_weights_transposed",
       "Gemm",
       {fed({kBatch, 19}), parameter({4, 19}), parameter({4})},
       {{"transB", one}, {"alpha", 0.5f}, {"beta", 2.0f}}},
      {"Gemm_both_transposed",
       "Gemm",
       {fed({5, 3}), fed({4, 5}), fed({3, 1})},
       {{"transA", one}, {"transB", one}, {"alpha", -1.5f}}},
      {"Gemm_input_transposed", "Gemm", {fed({5, 3}), parameter({5, 4}), parameter({1, 4})}, {{"transA", one}}},
      {"Gemm_scalar_bias", "Gemm", {fed({kBatch, 5}), parameter({5, 4}), parameter(Shape())}, {{"beta", 0.25f}}},
      {"Gemm_matrix_bias", "Gemm", {fed({3, 5}), fed({5, 4}), fed({3, 4})}},
      {"MatMul_plain", "MatMul", {fed({kBatch, 3}), parameter({3, 17})}},
      {"MatMul_fed", "MatMul", {fed({3, 4}), fed({4, 2})}},
      {"MatMul_sequence", "MatMul", {fed({kBatch, 5, 3}), parameter({3, 9})}},
      {"MatMul_time_first", "MatMul", {fed({4, kBatch, 3}), parameter({3, 2})}},
      {"MatMul_stacks", "MatMul", {fed({kBatch, 2, 5, 3}), fed({kBatch, 2, 3, 4})}},
      {"MatMul_broadcast_stacks", "MatMul", {fed({kBatch, 1, 5, 3}), fed({2, 3, 4})}},
      {"MatMul_broadcast_a", "MatMul", {parameter({6, 3}), fed({kBatch, 3, 4})}},
      {"MatMul_row", "MatMul", {parameter({3}), fed({kBatch, 3, 4})}},
      {"MatMul_column", "MatMul", {fed({kBatch, 4, 3}), parameter({3})}},
      {"MatMul_dot", "MatMul", {fed({5}), fed({5})}},
      {"MatMul_large", "MatMul", {fed({5, 130}), fed({130, 9})}},
      {.name = "MatMul_integers",
       .op = "MatMul",
       .inputs = {fed_type(DType::i32, {kBatch, 3, 5}, -9, 9), fed_type(DType::i32, {5, 2}, -9, 9)},
       .differentiable = false},
  };
}

}  // namespace mangrove::samples
