#pragma once

#include <functional>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/graph/graph.h"
#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

struct ProfileOptions {
  std::int64_t micro_batch = 1;
  std::string backend;  // "": the fastest
  int threads = 1;
  std::int64_t parts = 1;
  double slowdown = 1;  // see plan::MeasureOptions
};

/// Measures the time of a network's operators on this device, forward and backward, and the memory that a stage holds
/// for them. The caller fills in `room` and `reading`. The network is run in `parts` parts (or fewer, if it cannot be
/// cut so often), one after the other, so this takes no more memory than a stage. progress: called after each part with
/// the number of parts done. errors: those of Program::compile and plan::measure_profile.
Result<StageProfile> measure_stages(const Graph& graph, const ProfileOptions& options, const Clock& clock,
                                    const std::function<void(std::int64_t)>& progress);

/// The profile of a simulated device, from the amount of computation and the device's speed.
StageProfile simulated_stages(const Graph& graph, std::int64_t micro_batch, const job::RoleContext& context);

}  // namespace mangrove::train
