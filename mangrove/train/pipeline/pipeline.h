#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The strategies whose rows have a PipelineSchedule. Rank 0 leads (see lead_pipeline(), which explains what travels to
/// and from it), and the other ranks train stages of the network (see run_stage_worker()). schedule.h explains what the
/// stages do when, and why their updates are right.
Status run_pipeline(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
