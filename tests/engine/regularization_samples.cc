#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> regularization() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  return {
      {"Dropout_ratio_zero_with_mask", "Dropout", {x, constant(Tensor::of<float>(Shape(), {0.0f}))}, {}, 2},
      {"Dropout_ratio_zero", "Dropout", {x, constant(Tensor::of<float>(Shape(), {0.0f}))}},
      {"Identity", "Identity", {x}},
  };
}

}  // namespace mangrove::samples
