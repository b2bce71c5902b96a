#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Ranks 1 .. P of the pipeline strategy; pipeline.h explains the algorithm. errors: unavailable (the leader is gone),
/// cancelled, and the error that kept the node from taking part.
Status run_node(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
