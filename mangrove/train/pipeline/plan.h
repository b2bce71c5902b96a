#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/plan/planner.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/stage.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A node that can have a stage, and the measured times of the network's operators on it.
struct StageDevice {
  net::Rank rank = 0;
  StageProfile profile;
};

/// A profile that is computed from the operator table for this number of samples. It is the same for every node and has
/// no limit of memory.
StageProfile computed_profile(const Graph& graph, std::int64_t samples);
/// Whether a profile has a sensible figure for every operator.
bool is_profile_of(const StageProfile& profile, const Graph& graph);
/// Whether one node can do the work of another one in about the same time, at most kAlike longer.
bool is_as_good(const StageProfile& profile, const StageProfile& other);
constexpr double kAlike = 0.15;

/// The time that a device is busy with a micro-batch of these operators, by its profile. It includes packing the values
/// that cross the cuts, in both directions. It does not include recomputation.
struct StageSeconds {
  Seconds forward = 0, backward = 0, packing = 0;
  Seconds busy() const { return forward + backward + packing; }
};
StageSeconds stage_seconds(const Graph& graph, const StageRange& range, const StageProfile& profile,
                           std::int64_t micro_batch);

/// The requirements for a pipeline.
struct PipelineWish {
  std::int64_t micro_batch = 1;
  plan::DeviceRange devices;      // the least and the most devices; as many are used as pay
  std::size_t most_replicas = 1;  // the most devices of one stage; 0: any number
  Stage::Recompute recompute = Stage::Recompute::where_needed;
  plan::TrainingSchedule schedule = {};
  bool must_fit = false;  // false: if no pipeline is predicted to fit the memory, take the fastest
};
/// The job's schedule in the planner's terms. nodes: the most that the pipeline can have. slots: the number of arrays
/// that the optimizer keeps for the parameters.
plan::TrainingSchedule planned_schedule(const TrainJob& job, std::int64_t micro_batch, std::size_t nodes,
                                        std::size_t slots);

struct PlannedStage {
  struct Replica {
    net::Rank rank = 0;
    Seconds seconds = 1;  // expected time for a micro-batch; only the ratio between replicas matters
  };
  StageRange range;
  std::vector<Replica> replicas;  // one, or several that take micro-batches in turn
};
/// The pipeline that plan::make_plan predicts to be the fastest on these nodes among those that fit their memory. It
/// recomputes activations only if nothing fits without. Packing the values that cross a cut costs time on both sides of
/// the cut; the links themselves cost nothing. Nodes that are alike count as equal, with the means of their times. Each
/// stage states the memory that it needs. errors: invalid_argument (more stages than most_stages(graph) or than nodes;
/// no pipeline fits, and it must).
Result<std::vector<PlannedStage>> plan_pipeline(const Graph& graph, std::span<const StageDevice> devices,
                                                const PipelineWish& wish);

}  // namespace mangrove::train
