#pragma once

#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The strategies whose rows have a PipelineSchedule: rank 0 leads, the others are stages of the network. See
/// lead_pipeline(), run_stage_worker().
Status run_pipeline(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
