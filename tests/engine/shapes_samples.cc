#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> shapes() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  return {
      {"Expand_batch", "Expand", {fed({1, 3, 1}), integers({-1, 1, 4})}},
      {"Expand_leading", "Expand", {fed({kBatch, 1, 3}), integers({2, 1, 4, 1})}},
      {"Expand_parameter", "Expand", {parameter({2, 1}), integers({3, 2, 5})}},
      {"Flatten_default", "Flatten", {x}},
      {"Flatten_last_axis", "Flatten", {fed({2, 3, 4})}, {{"axis", std::int64_t{-1}}}},
      {"Reshape_merge", "Reshape", {x, integers({0, -1})}},
      {"Reshape_split", "Reshape", {fed({kBatch, 12}), integers({0, 3, 4})}},
      {"Reshape_batch_inside", "Reshape", {fed({6, kBatch, 4}), integers({2, 3, -1, 4})}},
      {"Squeeze_all", "Squeeze", {fed({1, 3, 1, kBatch})}},
      {"Squeeze_axes", "Squeeze", {fed({1, 3, 1, kBatch}), integers({-2})}},
      {"Unsqueeze", "Unsqueeze", {fed({kBatch, 3}), integers({-1, 0})}},
  };
}

}  // namespace mangrove::samples
