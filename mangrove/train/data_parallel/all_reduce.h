#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Synchronous data-parallel SGD in which the workers add up their gradients among themselves. They do so along a ring,
/// a tree, a ring of trees, or through servers of parts (see Topology). Then each worker makes the same update on its
/// own copy of the values.
///
/// A step: rank 0 tells every worker which samples to visit. Each worker computes its gradient, from the last layer to
/// the first, and begins to sum a bucket of layers as soon as its gradient is there. Then each worker sends rank 0 its
/// share of the sums. Rank 0 puts the shares together and makes the same update on its own copy. Checkpoints,
/// validation, and workers that join later take their values from that copy. Workers make their update when the order
/// for the next step tells them that everyone has the sums.
///
/// right    The gradient of a sum is the sum of the gradients. So P workers with batches of b samples compute what one
///          worker computes with a batch of P b samples, up to rounding. Each sum is made in one fixed order and then
///          copied, so all ranks have the same bits, and two runs with one seed are bit-equal.
/// faults   When a worker is gone, silent for step_timeout_s, or failed, the step begins anew with the others. Every
///          sample of an epoch counts exactly once. When workers wait for each other's parts and none has come for
///          step_timeout_s, the step begins anew. When this happens twice in a row, the worker at the broken link is
///          left out.
/// cost     With n f32 values, each worker sends 2n (P-1)/P values a step along the ring, and n/P values to rank 0.
///          plan_all_reduce() gives the cost of the other topologies.
/// source   Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
Status run_all_reduce(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
