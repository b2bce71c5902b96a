#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Ranks 1 .. P of the tiers strategy (see tiers.h): a device of whichever tier the leader's tasks say. It does them
/// one after the other; one whose samples have a delay on their way waits for them, without holding up others before
/// it. errors: unavailable (the leader is gone), cancelled, and what kept the node from taking part.
Status run_tier_node(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
