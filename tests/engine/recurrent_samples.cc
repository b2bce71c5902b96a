#include "tests/engine/operator_samples.h"

namespace mangrove::samples {
namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kSteps = 4, kInputs = 3, kHidden = 2;

SampleInput sequence() {
  return fed({kSteps, kBatch, kInputs});
}

/// X, W, R and B for this many gates and directions.
std::vector<SampleInput> weighted(SampleInput x, std::int64_t gates, std::int64_t directions = 1) {
  return {std::move(x), parameter({directions, gates * kHidden, kInputs}),
          parameter({directions, gates * kHidden, kHidden}), parameter({directions, 2 * gates * kHidden})};
}

/// With the states before the first step, one for an LSTM's cells too, and an LSTM's peepholes.
std::vector<SampleInput> with_states(std::vector<SampleInput> inputs, const Shape& state, std::size_t states) {
  inputs.push_back(absent());
  for (std::size_t i = 0; i < states; ++i) inputs.push_back(fed(state));
  if (states == 2) inputs.push_back(parameter({inputs[1].shape[0], 3 * kHidden}));
  return inputs;
}

std::vector<OperatorSample> samples_of(const std::string& op, std::int64_t gates, std::size_t states) {
  const Shape time_first{2, kBatch, kHidden}, batch_first{kBatch, 1, kHidden};
  const SampleInput by_sample = fed({kBatch, kSteps, kInputs});
  std::vector<SampleInput> bare = weighted(sequence(), gates);
  bare.pop_back();
  return {
      {op + "_forward", op, weighted(sequence(), gates), {}, states + 1},
      {op + "_y_only", op, bare, {{"hidden_size", kHidden}}},
      {op + "_reverse", op, weighted(sequence(), gates), {{"direction", std::string("reverse")}}, 2},
      {op + "_bidirectional_states",
       op,
       with_states(weighted(sequence(), gates, 2), time_first, states),
       {{"direction", std::string("bidirectional")}},
       states + 1},
      {op + "_batch_first",
       op,
       with_states(weighted(by_sample, gates), batch_first, states),
       {{"layout", std::int64_t{1}}},
       states + 1},
  };
}

}  // namespace

std::vector<OperatorSample> recurrent() {
  std::vector<OperatorSample> samples;
  for (const auto& [op, gates, states] :
       {std::tuple("GRU", std::int64_t{3}, 1), {"LSTM", std::int64_t{4}, 2}, {"RNN", std::int64_t{1}, 1}}) {
    for (OperatorSample& sample : samples_of(op, gates, static_cast<std::size_t>(states))) {
      samples.push_back(std::move(sample));
    }
  }
  for (OperatorSample sample : samples_of("GRU", 3, 1)) {
    sample.name += "_linear_before_reset";
    sample.attributes["linear_before_reset"] = std::int64_t{1};
    samples.push_back(std::move(sample));
  }
  samples.push_back({"RNN_relu",
                     "RNN",
                     weighted(sequence(), 1, 2),
                     {{"direction", std::string("bidirectional")}, {"activations", Names{"Relu", "Tanh"}}}});
  return samples;
}

}  // namespace mangrove::samples
