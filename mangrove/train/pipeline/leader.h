#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Rank 0 of a pipeline. It cuts the network into stages, gives each to a worker, and lets `local_steps` mini-batches
/// at a time pass through them; then every stage sends its parameters and what the optimizer remembers, so that the
/// leader has a version that all stages agree on. When a stage is lost, the samples since that version are given out
/// again, from it, to the same stages with a spare worker, or to fewer stages. errors: those of Strategy::run;
/// invalid_argument (more stages than nodes, or than the network can be cut into).
Status lead_pipeline(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
