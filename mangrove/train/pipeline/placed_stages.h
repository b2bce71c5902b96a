#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/plan.h"
#include "mangrove/train/result.h"

namespace mangrove::train {

/// A worker that has a stage, alone or as one of its replicas.
struct StageHolder {
  net::Rank rank = 0;
  Seconds seconds = 0;     // that it is expected to take for a micro-batch
  bool has_state = false;  // of the version that the leader has
};

/// A stage, and where its values are among those of the whole network.
struct PlacedStage {
  StageRange range;
  std::vector<StageHolder> holders;
  StageSizes sizes;
  std::size_t parameters_begin = 0, states_begin = 0;
  std::size_t state_elements = 0;  // see Stage
};

/// The stages of a training pipeline as its leader knows them, none at first. threads: one at a time.
class PlacedStages {
 public:
  /// slots: arrays that the optimizer has for the parameters. graph: outlives it.
  PlacedStages(const Graph& graph, std::size_t slots) : graph_(graph), slots_(slots) {}

  /// In place of those that were. A worker that keeps its part of the network keeps its state. errors: those of
  /// stage_sizes.
  Status place(const std::vector<PlannedStage>& planned);

  std::vector<PlacedStage>& all() { return stages_; }
  const std::vector<PlacedStage>& all() const { return stages_; }
  std::size_t devices() const;
  /// Whose samples and answer stand for all: the first that has the last stage.
  net::Rank keeper() const { return stages_.back().holders.front().rank; }
  /// As the workers are told of them.
  Pipeline message(std::uint64_t id, std::int64_t micro_batch) const;
  /// Of each device, by stage; without figures, but for the expected ones where they are of `times` that were measured.
  std::vector<TrainedStage> described(const std::function<std::string(net::Rank)>& name, bool times) const;

  /// The stage's part of a whole network's values, as Stage::write_state wants it.
  static std::string state_of(const PlacedStage& stage, const learn::Checkpoint& whole);
  /// The other way round. errors: those of net::read_floats.
  static Status take_state(const PlacedStage& stage, std::string_view state, learn::Checkpoint& whole);

 private:
  const Graph& graph_;
  const std::size_t slots_;
  std::vector<PlacedStage> stages_;
};

}  // namespace mangrove::train
