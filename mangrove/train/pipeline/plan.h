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

/// A node that can have a stage, and what the network's operators take there.
struct StageDevice {
  net::Rank rank = 0;
  StageProfile profile;
};

/// What is computed of the operators, for so many samples: the same for every node, with room for everything.
StageProfile computed_profile(const Graph& graph, std::int64_t samples);
/// Whether a profile has figures that make sense, of every operator.
bool is_profile_of(const StageProfile& profile, const Graph& graph);
/// Whether one node can do what another one does, in about the time: within kAlike of it.
bool is_as_good(const StageProfile& profile, const StageProfile& other);
constexpr double kAlike = 0.15;

/// That a device is busy with a micro-batch of these operators, by its profile: without what it computes twice, and
/// with packing what crosses the cuts, both ways.
struct StageSeconds {
  Seconds forward = 0, backward = 0, packing = 0;
  Seconds busy() const { return forward + backward + packing; }
};
StageSeconds stage_seconds(const Graph& graph, const StageRange& range, const StageProfile& profile,
                           std::int64_t micro_batch);

/// What is asked of a pipeline.
struct PipelineWish {
  std::int64_t micro_batch = 1;
  plan::DeviceRange devices;      // in use: as many of them as are worth it
  std::size_t most_replicas = 1;  // devices of a stage; 0: any number
  Stage::Recompute recompute = Stage::Recompute::where_needed;
  plan::TrainingSchedule schedule = {};
  bool must_fit = false;  // else, where no pipeline is predicted to fit the memory, the fastest all the same
};
/// Of the job, where it has so many nodes at most. slots: arrays that the optimizer has for the parameters.
plan::TrainingSchedule planned_schedule(const TrainJob& job, std::int64_t micro_batch, std::size_t nodes,
                                        std::size_t slots);

struct PlannedStage {
  struct Replica {
    net::Rank rank = 0;
    Seconds seconds = 1;  // expected for a micro-batch; what counts is how replicas compare
  };
  StageRange range;
  std::vector<Replica> replicas;  // one, or several that have micro-batches in turn
};
/// The pipeline that plan::make_plan says is the fastest on these nodes and fits their memory, with recomputation only
/// where nothing does without. What crosses a cut costs both of its sides what packing it takes; links count nothing.
/// Nodes that are alike count as equal, with the means of their times. Each stage says itself what memory it
/// needs. errors: invalid_argument (more stages than most_stages(graph), or than nodes; none fits, and it must).
Result<std::vector<PlannedStage>> plan_pipeline(const Graph& graph, std::span<const StageDevice> devices,
                                                const PipelineWish& wish);

}  // namespace mangrove::train
