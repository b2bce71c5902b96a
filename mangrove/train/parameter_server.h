#pragma once

#include "mangrove/base/result.h"
#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Synchronous data-parallel SGD around a parameter server.
///
/// Rank 0 is the server: it has no data; it holds the parameters and decides who visits which samples. Ranks 1 .. P are
/// workers. One step, with batch b: the server sends every worker the parameters and up to b sample indices; workers
/// answer with the gradient of the sum of their losses; the server adds these in rank order, divides by the number of
/// samples in the step, and makes an SGD step. So P workers of batch b compute what one computes with batch P*b, and
/// two runs with one seed are bit-equal.
///
/// faults  a worker that is gone, silent for step_timeout_s, or failed gives its samples of the step back; the step is
///         completed by the others (redone if there are none), and every sample of an epoch counts exactly once. A
///         silent worker is used again when it answers.
/// cost    per step and worker: n f32 parameters one way and n f32 gradients the other.
/// source  Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014 (synchronous case).
Status run_parameter_server(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
