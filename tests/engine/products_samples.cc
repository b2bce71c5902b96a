#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> products() {
  const std::int64_t one = 1;
  return {
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
  };
}

}  // namespace mangrove::samples
