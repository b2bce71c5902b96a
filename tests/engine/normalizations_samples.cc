#include "operator_samples.h"

namespace mangrove::samples {
namespace {

std::vector<SampleInput> batch_norm_of(const Shape& shape) {
  const Shape channels{shape[1]};  // mean and variance are states: initializers, though not parameters
  return {fed(shape), parameter(channels, 0.5, 1.5), parameter(channels), parameter(channels),
          parameter(channels, 0.5, 2)};
}

}  // namespace

std::vector<OperatorSample> normalizations() {
  return {
      {"BatchNormalization_image", "BatchNormalization", batch_norm_of({kBatch, 3, 4, 5})},
      {"BatchNormalization_signal", "BatchNormalization", batch_norm_of({kBatch, 2, 7}), {{"epsilon", 0.1f}}},
      {"BatchNormalization_features",
       "BatchNormalization",
       batch_norm_of({kBatch, 4}),
       {{"epsilon", 0.5f}, {"training_mode", std::int64_t{1}}}},
  };
}

}  // namespace mangrove::samples
