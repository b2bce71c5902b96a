#pragma once

#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/plan/partition.h"

namespace mangrove::infer {

/// How a graph is cut, and what each stage is expected to cost.
struct StagePlan {
  struct Stage {
    std::size_t first, last;             // operators [first, last)
    std::vector<std::string> operators;  // their names
    Seconds seconds;                     // expected, for one micro-batch
    std::int64_t bytes_per_image;        // sent to the next stage
  };
  std::vector<Stage> stages;
  Seconds read_seconds = 0;  // of one micro-batch of samples, beside the first stage
};

/// Cuts the graph into stages with the least costly costliest one. An operator costs its measured time; a cut costs
/// both of its stages the handling of what crosses it, at kCutBytesPerSecond, and once more where it parts an
/// activation function from the operator that would have computed it on the way. errors: invalid_argument (more stages
/// than operators; a profile of another graph).
Result<StagePlan> plan_stages(const Graph& graph, const Profile& profile, std::size_t stages, std::int64_t micro_batch);

/// Assumed rate at which a stage's thread packs what it sends, or unpacks what it receives: a few copies.
constexpr double kCutBytesPerSecond = 4e9;

/// Assumed rate at which the threads of the transport, beside the stages', send or receive on one core.
constexpr double kTransportBytesPerSecond = 1e9;

}  // namespace mangrove::infer
