#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Data-parallel SGD around a parameter server.
///
/// Rank 0 is the server: it has no data; it holds the parameters and decides who visits which samples. Ranks 1 .. P are
/// workers: given the parameters and up to `batch` sample indices, they answer with the gradient of the sum of their
/// losses, which the server divides by the number of samples and makes a step with. Whether a step waits for all
/// workers, some or one is the job's consistency: see SynchronousServer and AsynchronousServer.
///
/// faults  a worker that is gone, silent for step_timeout_s, or failed gives its samples back; they go to the others,
///         and every sample of an epoch counts exactly once. A silent worker is used again when it answers.
/// cost    per answer: n f32 parameters one way and n f32 gradients the other.
/// source  Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014.
Status run_parameter_server(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
