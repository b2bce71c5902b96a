#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> arithmetic() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  return {
      {"Add_same_shape", "Add", {x, x}},
      {"Add_channel_bias", "Add", {x, parameter({3, 1, 1})}},
      {"Add_row_bias", "Add", {fed({kBatch, 5}), parameter({5})}},
      {"Add_scalar", "Add", {parameter({1}), x}},
      {"Add_both_broadcast", "Add", {fed({kBatch, 1, 4}), fed({3, 1})}},
  };
}

}  // namespace mangrove::samples
