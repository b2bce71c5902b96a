#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

std::vector<SampleInput> batch_norm_of(const Shape& shape) {
  const Shape channels{shape[1]};  // mean and variance are states: initializers, though not parameters
  return {fed(shape), parameter(channels, 0.5, 1.5), parameter(channels), parameter(channels),
          parameter(channels, 0.5, 2)};
}

std::vector<OperatorSample> row_norms() {
  const SampleInput image = fed({kBatch, 6, 3, 5});
  const std::int64_t one = 1, three = 3;
  return {
      {"LayerNormalization_last", "LayerNormalization", {fed({kBatch, 11}), parameter({11}), parameter({11})}},
      {"LayerNormalization_no_bias",
       "LayerNormalization",
       {image, parameter({3, 5})},
       {{"axis", std::int64_t{-2}}, {"epsilon", 0.1f}}},
      {"LayerNormalization_sequence",
       "LayerNormalization",
       {fed({4, kBatch, 5}), parameter({5}), parameter({5})},
       {{"axis", std::int64_t{2}}}},
      {.name = "LayerNormalization_statistics",
       .op = "LayerNormalization",
       .inputs = {image, parameter({6, 3, 5}), parameter({6, 3, 5})},
       .attributes = {{"axis", one}},
       .outputs = 3,
       .differentiable = false},
      {"InstanceNormalization_image", "InstanceNormalization", {image, parameter({6}), parameter({6})}},
      {"InstanceNormalization_signal",
       "InstanceNormalization",
       {fed({kBatch, 2, 9}), parameter({2}), parameter({2})},
       {{"epsilon", 0.01f}}},
      {"GroupNormalization",
       "GroupNormalization",
       {image, parameter({6}), parameter({6})},
       {{"num_groups", three}, {"epsilon", 0.01f}}},
      {"GroupNormalization_one",
       "GroupNormalization",
       {fed({kBatch, 3, 4}), parameter({3}), parameter({3})},
       {{"num_groups", one}}},
  };
}

}  // namespace

std::vector<OperatorSample> normalizations() {
  std::vector<OperatorSample> samples{
      {"BatchNormalization_image", "BatchNormalization", batch_norm_of({kBatch, 3, 4, 5})},
      {"BatchNormalization_signal", "BatchNormalization", batch_norm_of({kBatch, 2, 7}), {{"epsilon", 0.1f}}},
      {"BatchNormalization_features",
       "BatchNormalization",
       batch_norm_of({kBatch, 4}),
       {{"epsilon", 0.5f}, {"training_mode", std::int64_t{1}}}},
      {"LRN_odd", "LRN", {fed({kBatch, 7, 2, 3})}, {{"size", std::int64_t{3}}, {"alpha", 0.5f}, {"bias", 0.7f}}},
      {"LRN_even", "LRN", {fed({kBatch, 5, 4})}, {{"size", std::int64_t{4}}, {"alpha", 0.9f}, {"beta", 1.5f}}},
      {"LRN_all", "LRN", {fed({kBatch, 3, 2, 2})}, {{"size", std::int64_t{9}}}},
  };
  for (OperatorSample& sample : row_norms()) samples.push_back(std::move(sample));
  return samples;
}

}  // namespace mangrove::samples
