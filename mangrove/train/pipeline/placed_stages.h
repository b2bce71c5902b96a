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
  Seconds seconds = 0;     // expected time for a micro-batch
  bool has_state = false;  // the worker has the state of the leader's version
};

/// A stage, and the position of its values among those of the whole network.
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
  /// graph: must outlive this object. slots: the number of arrays that the optimizer keeps for the parameters.
  PlacedStages(const Graph& graph, std::size_t slots) : graph_(graph), slots_(slots) {}

  /// Replaces the stages by these. A worker that keeps its part of the network keeps its state. errors: those of
  /// stage_sizes.
  Status place(const std::vector<PlannedStage>& planned);

  std::vector<PlacedStage>& all() { return stages_; }
  const std::vector<PlacedStage>& all() const { return stages_; }
  std::size_t devices() const;
  /// The first worker of the last stage. The ledger counts the samples of an iteration as its samples.
  net::Rank keeper() const { return stages_.back().holders.front().rank; }
  /// The message that tells the workers of the stages.
  Pipeline message(std::uint64_t id, std::int64_t micro_batch) const;
  /// A description of each device, by stage. It has no measured figures. It has the expected times if `times` says that
  /// they were measured.
  std::vector<TrainedStage> described(const std::function<std::string(net::Rank)>& name, bool times) const;

  /// The stage's part of a whole network's values, in the form that Stage::write_state takes.
  static std::string state_of(const PlacedStage& stage, const learn::Checkpoint& whole);
  /// Writes a stage's state into the values of the whole network. errors: those of net::read_floats.
  static Status take_state(const PlacedStage& stage, std::string_view state, learn::Checkpoint& whole);

 private:
  const Graph& graph_;
  const std::size_t slots_;
  std::vector<PlacedStage> stages_;
};

}  // namespace mangrove::train
