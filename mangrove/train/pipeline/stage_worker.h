#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A worker of a pipeline. It trains the stage of the network that the leader gives it; lead_pipeline() explains the
/// algorithm. errors: those of WorkerRole::run.
Status run_stage_worker(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
