#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// One board classifies everything with the whole network: the fastest, as all of them are measured. Another one begins
/// anew where it is lost. What every other strategy is compared with.
Status run_single(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
