#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Synchronous data-parallel SGD whose workers add up their gradients among themselves, along a ring, a tree, or both
/// (see Topology), and each make the same update. So P workers of batch b compute what one computes with batch P*b, up
/// to rounding, and two runs with one seed are bit-equal.
///
/// Rank 0 leads: it says who visits which samples, and gets every worker's share of the sums, so that it can make the
/// updates too: checkpoints, validation and workers that come in later take the values from there.
///
/// faults  the update of a step is made when everyone has the sum. When a worker is gone, silent for step_timeout_s, or
///         failed, the step begins anew with the others; every sample of an epoch counts exactly once. Where workers
///         wait for each other's parts for step_timeout_s and none comes, the step begins anew, the second time in a
///         row without an end of the broken link.
/// cost    per step, with n f32 values: each worker sends 2n (P-1)/P along the ring and n/P to rank 0.
/// source  Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
Status run_all_reduce(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
