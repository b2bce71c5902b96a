#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> shapes() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  return {
      {"Flatten_default", "Flatten", {x}},
      {"Flatten_last_axis", "Flatten", {fed({2, 3, 4})}, {{"axis", std::int64_t{-1}}}},
      {"Reshape_merge", "Reshape", {x, integers({0, -1})}},
      {"Reshape_split", "Reshape", {fed({kBatch, 12}), integers({0, 3, 4})}},
  };
}

}  // namespace mangrove::samples
