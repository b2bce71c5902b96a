#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The strategies whose rows have a PipelineSchedule: rank 0 leads, the others are stages of the network. See
/// lead_pipeline(), run_stage_worker().
Status run_pipeline(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
