#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// job.members are networks for the same samples. Each board classifies all samples with one of them, and when it is
/// done takes the next that nobody has, so that fast boards take more of them; that of a lost or silent one begins anew
/// elsewhere. What they say is put together by the leader (see votes.h):
///
/// ensemble   one-vs-rest, each network for some of the classes
/// averaging  each network for all of them
Status run_ensemble(const InferJob& job, net::RoleContext& context);

}  // namespace mangrove::infer
