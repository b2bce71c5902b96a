#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> softmaxes() {
  return {
      {"Softmax_rows", "Softmax", {fed({kBatch, 7})}},
      {"Softmax_last_of_four", "Softmax", {fed({kBatch, 3, 2, 5})}, {{"axis", std::int64_t{-1}}}},
  };
}

}  // namespace mangrove::samples
