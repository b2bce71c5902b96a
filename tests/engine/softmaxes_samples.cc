#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> softmaxes() {
  const SampleInput x = fed({kBatch, 3, 2, 5}, -3, 3);
  std::vector<OperatorSample> samples;
  for (const std::string op : {"Hardmax", "LogSoftmax", "Softmax"}) {
    samples.push_back({op + "_rows", op, {fed({kBatch, 7})}});
    samples.push_back({op + "_last_of_four", op, {x}, {{"axis", std::int64_t{-1}}}});
    samples.push_back({op + "_channels", op, {x}, {{"axis", std::int64_t{1}}}});
    samples.push_back({op + "_before_last", op, {x}, {{"axis", std::int64_t{-2}}}});
    samples.push_back({op + "_first", op, {fed({6, 4})}, {{"axis", std::int64_t{0}}}});
  }
  return samples;
}

}  // namespace mangrove::samples
