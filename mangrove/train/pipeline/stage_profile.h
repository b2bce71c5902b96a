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
};

/// What the operators of a network take on this device, forward and backward, and what a stage holds for them; room and
/// reading are left to the caller. The network is run in so many parts (or fewer, where it cannot be cut so often), one
/// after the other, so that this takes no more memory than a stage. progress: called after each part with how many are
/// done. errors: those of Program::compile and plan::measure_profile.
Result<StageProfile> measure_stages(const Graph& graph, const ProfileOptions& options, const Clock& clock,
                                    const std::function<void(std::int64_t)>& progress);

/// The same of a simulated device: what is computed, as fast as it computes.
StageProfile simulated_stages(const Graph& graph, std::int64_t micro_batch, const job::RoleContext& context);

}  // namespace mangrove::train
