#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Ranks 1 .. P of the strategy "views" (see views.h).
/// errors: unavailable (the leader is gone), cancelled, and what kept the node from taking part.
Status run_view_node(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
