#include "mangrove/train/data_parallel/divided_network.h"

#include <algorithm>
#include <vector>

namespace mangrove::train {

Result<std::unique_ptr<DividedNetwork>> DividedNetwork::create(const NetworkShard& shard, const Options& options,
                                                               const learn::MemoryBudget& budget) {
  std::unique_ptr<DividedNetwork> network(new DividedNetwork());
  const Graph& graph = shard.graph();
  const std::size_t cuts[] = {0, shard.begin(), shard.end(), graph.nodes().size()};
  std::size_t parameters = 0, states = 0, names = 0;
  learn::MemoryBudget left = budget;
  for (std::size_t i = 0; i < 3; ++i) {
    Part& part = network->parts_[i];
    if (cuts[i] == cuts[i + 1]) continue;
    const StageOptions stage{.micro_batch = options.rows,
                             .in_flight = i == 1 ? options.members : 1,
                             .backend = options.backend,
                             .threads = options.threads,
                             .optimizer = {.name = "sgd"}};  // it is never used: the values come with each step
    MG_TRY(part.stage, Stage::create(graph, cuts[i], cuts[i + 1], stage, Stage::Recompute::never, left));
    left.reserved += part.stage->memory().total();
    MG_TRY(const Graph slice, graph.slice(cuts[i], cuts[i + 1]));
    const auto elements = static_cast<std::size_t>(slice.parameter_elements());
    part.parameters = {parameters, elements};
    part.states = {states, part.stage->sum_elements() - elements};
    part.names = {names, slice.parameters().size()};
    parameters += elements;
    states += part.states.count;
    names += part.names.count;
  }
  network->parameters_ = parameters;
  return network;
}

void DividedNetwork::write(std::span<const float> values) {
  for (Part& part : parts_) {
    if (part.stage == nullptr) continue;
    std::vector<float> state(part.parameters.count + part.states.count);
    const auto states = std::ranges::copy(values.subspan(part.parameters.first, part.parameters.count), state.begin());
    std::ranges::copy(values.subspan(parameters_ + part.states.first, part.states.count), states.out);
    part.stage->write_state(state);
  }
}

/// Gradients, then states.
std::vector<float> DividedNetwork::sums_of(Part& part) {
  std::vector<float> sums(part.stage == nullptr ? 0 : part.stage->sum_elements());
  if (part.stage != nullptr) part.stage->read_sums(sums);
  return sums;
}

void DividedNetwork::read_gradients(Part& part, std::span<float> values) {
  const std::vector<float> sums = sums_of(part);
  std::copy_n(sums.begin(), part.parameters.count, values.begin() + static_cast<std::ptrdiff_t>(part.parameters.first));
}

void DividedNetwork::read_states(std::span<float> values) {
  for (Part& part : parts_) {
    const std::vector<float> sums = sums_of(part);
    std::ranges::copy(std::span(sums).subspan(part.parameters.count),
                      values.begin() + static_cast<std::ptrdiff_t>(parameters_ + part.states.first));
  }
}

}  // namespace mangrove::train
