#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Ranks 1 .. P of the tiers strategy: a device of the tier that the leader's tasks name; tiers.h explains the
/// algorithm. It does its tasks one after the other. If the way of the samples has a delay, the device waits for them
/// without holding up earlier tasks. errors: unavailable (the leader is gone), cancelled, and the error that kept the
/// node from taking part.
Status run_tier_node(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
