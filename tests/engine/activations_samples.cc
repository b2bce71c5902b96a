#include "operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> activations() {
  const SampleInput x = fed({kBatch, 3, 2, 5});
  std::vector<OperatorSample> samples;
  for (const std::string op : {"Relu", "Sigmoid", "Tanh"}) {
    samples.push_back({op, op, {x}});
    samples.push_back({op + "_vector", op, {fed({kBatch})}});
  }
  return samples;
}

}  // namespace mangrove::samples
