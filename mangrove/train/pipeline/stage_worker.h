#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A worker of a pipeline: has one stage of the network, as the leader says; see PipelineLeader. errors: those of
/// WorkerRole::run.
Status run_stage_worker(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
