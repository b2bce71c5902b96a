#include "tests/engine/operator_samples.h"

#include "mangrove/graph/operators/rows.h"

namespace mangrove::samples {

std::vector<OperatorSample> activations() {
  const SampleInput x = fed({kBatch, 3, 2, 5}, -2, 2);
  const SampleInput low = scalar(-0.5), high = scalar(0.75);
  std::vector<OperatorSample> samples;
  for (const Operator& row : rows::activations()) {  // each as it is without attributes
    if (row.max_inputs > 1) continue;
    const std::string op(row.type);
    samples.push_back({op, op, {x}});
    samples.push_back({op + "_vector", op, {fed({kBatch})}});
  }
  for (OperatorSample& sample :
       std::vector<OperatorSample>{{"Clip", "Clip", {x, low, high}},
                                   {"Clip_below", "Clip", {x, low}},
                                   {"Clip_above", "Clip", {x, absent(), high}},
                                   {"Clip_nothing", "Clip", {x}},
                                   {"Celu_alpha", "Celu", {x}, {{"alpha", 0.3f}}},
                                   {"Elu_alpha", "Elu", {x}, {{"alpha", 0.3f}}},
                                   {"Elu_turned", "Elu", {x}, {{"alpha", -0.5f}}},
                                   {"Gelu_wide", "Gelu", {fed({kBatch, 7}, -6, 6)}},
                                   {"Gelu_tanh", "Gelu", {x}, {{"approximate", std::string("tanh")}}},
                                   {"HardSigmoid_wide", "HardSigmoid", {fed({kBatch, 7}, -4, 4)}},
                                   {"HardSigmoid_steep", "HardSigmoid", {x}, {{"alpha", 0.6f}, {"beta", 0.2f}}},
                                   {"HardSwish_wide", "HardSwish", {fed({kBatch, 3, 4}, -5, 5)}},
                                   {"LeakyRelu_alpha", "LeakyRelu", {x}, {{"alpha", 0.3f}}},
                                   {"LeakyRelu_turned", "LeakyRelu", {x}, {{"alpha", -0.5f}}},
                                   {"Mish_wide", "Mish", {fed({kBatch, 7}, -30, 30)}},
                                   {"PRelu_channels", "PRelu", {x, parameter({3, 1, 1})}},
                                   {"PRelu_one_slope", "PRelu", {x, parameter({1})}},
                                   {"PRelu_each", "PRelu", {fed({kBatch, 4}), parameter({4})}},
                                   {"Selu_attributes", "Selu", {x}, {{"alpha", 2.0f}, {"gamma", 3.0f}}},
                                   {"Shrink_bias", "Shrink", {x}, {{"bias", 0.7f}, {"lambd", 1.1f}}},
                                   {"ThresholdedRelu_low", "ThresholdedRelu", {x}, {{"alpha", -0.3f}}}}) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace mangrove::samples
