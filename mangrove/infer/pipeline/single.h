#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// One board classifies everything with the whole network: the fastest one by the measurements. If it is lost, another
/// one starts from the beginning. All other strategies are compared with this one.
Status run_single(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
