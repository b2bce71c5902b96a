#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Data-parallel SGD around a parameter server.
///
/// Rank 0 is the server. It has no data; it has the parameters and decides which worker visits which samples. Ranks 1
/// .. P are workers. A worker gets the parameters and up to `batch` sample numbers, and answers with the gradient of
/// the sum of its losses. The server divides by the number of samples and makes an update. The job's consistency says
/// whether an update waits for all workers, some, or one: see SynchronousServer and AsynchronousServer, which say why
/// each is right.
///
/// faults  A worker that is gone, silent for step_timeout_s, or failed gives its samples back. They go to the others,
///         and every sample of an epoch counts exactly once. A silent worker is used again when it answers.
/// cost    Each answer moves n f32 parameters to the worker and n f32 gradients back. A codec makes these messages
///         smaller.
/// source  Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014.
Status run_parameter_server(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
