#include "mangrove/train/pipeline/placed_stages.h"

#include <span>
#include <utility>

#include "mangrove/net/payload.h"

namespace mangrove::train {

Status PlacedStages::place(const std::vector<PlannedStage>& planned) {
  const std::vector<PlacedStage> before = std::exchange(stages_, {});
  const auto has_state = [&](const StageRange& range, net::Rank rank) {
    for (const PlacedStage& stage : before)
      for (const StageHolder& holder : stage.holders)
        if (stage.range == range && holder.rank == rank) return holder.has_state;
    return false;
  };
  std::size_t parameters = 0, states = 0;
  for (const PlannedStage& stage : planned) {
    MG_TRY(const StageSizes sizes, stage_sizes(graph_, stage.range));
    stages_.push_back({stage.range, {}, sizes, parameters, states, sizes.parameters * (1 + slots_) + sizes.states});
    for (const PlannedStage::Replica& replica : stage.replicas)
      stages_.back().holders.push_back({replica.rank, replica.seconds, has_state(stage.range, replica.rank)});
    parameters += sizes.parameters;
    states += sizes.states;
  }
  return {};
}

std::size_t PlacedStages::devices() const {
  std::size_t count = 0;
  for (const PlacedStage& stage : stages_) count += stage.holders.size();
  return count;
}

Pipeline PlacedStages::message(std::uint64_t id, std::int64_t micro_batch) const {
  Pipeline pipeline;
  pipeline.set_id(id);
  pipeline.set_micro_batch(micro_batch);
  for (const PlacedStage& stage : stages_) {
    PipelineStage& told = *pipeline.add_stages();
    told.set_first(static_cast<std::uint32_t>(stage.range.first));
    told.set_last(static_cast<std::uint32_t>(stage.range.last));
    for (const StageHolder& holder : stage.holders) {
      StageReplica& replica = *told.add_replicas();
      replica.set_rank(holder.rank);
      replica.set_seconds(holder.seconds);
    }
  }
  return pipeline;
}

std::vector<TrainedStage> PlacedStages::described(const std::function<std::string(net::Rank)>& name, bool times) const {
  std::vector<TrainedStage> devices;
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    const PlacedStage& stage = stages_[number];
    TrainedStage one{.stage = number, .node = {}, .operators = {}, .parameters = stage.sizes.parameters};
    for (std::size_t i = stage.range.first; i < stage.range.last; ++i) one.operators.push_back(graph_.nodes()[i].name);
    for (const StageHolder& holder : stage.holders) {
      one.node = name(holder.rank);
      if (times) one.predicted_busy = holder.seconds;
      devices.push_back(one);
    }
  }
  return devices;
}

std::string PlacedStages::state_of(const PlacedStage& stage, const learn::Checkpoint& whole) {
  std::string state;
  const auto append = [&](const std::vector<float>& flat, std::size_t begin, std::size_t count) {
    net::append_floats(state, std::span(flat).subspan(begin, count));
  };
  append(whole.parameters, stage.parameters_begin, stage.sizes.parameters);
  append(whole.states, stage.states_begin, stage.sizes.states);
  for (const auto& slot : whole.slots) append(slot, stage.parameters_begin, stage.sizes.parameters);
  return state;
}

Status PlacedStages::take_state(const PlacedStage& stage, std::string_view state, learn::Checkpoint& whole) {
  const auto take = [&](std::vector<float>& flat, std::size_t begin, std::size_t count) {
    const std::string_view bytes = state.substr(0, count * sizeof(float));
    state.remove_prefix(bytes.size());
    return net::read_floats(bytes, std::span(flat).subspan(begin, count));
  };
  MG_RETURN_IF_ERROR(take(whole.parameters, stage.parameters_begin, stage.sizes.parameters));
  MG_RETURN_IF_ERROR(take(whole.states, stage.states_begin, stage.sizes.states));
  for (auto& slot : whole.slots) MG_RETURN_IF_ERROR(take(slot, stage.parameters_begin, stage.sizes.parameters));
  return {};
}

}  // namespace mangrove::train
