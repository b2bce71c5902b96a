#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// Rank 0 of the pipeline strategy (see pipeline.h).
Status run_leader(const InferJob& job, net::RoleContext& context);

}  // namespace mangrove::infer
