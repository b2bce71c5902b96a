#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Hybrid of data and model parallelism. Groups of workers divide the weights of two large fully connected layers among
/// their members (see LayerPair). All other layers are data-parallel, as in all_reduce.
///
/// A step: as in all_reduce, but micro-batches pass the divided layers as GroupPass says. So the gradients of the
/// divided weights need no sum over a group: each worker has the whole gradient of its part. Where there are several
/// groups, workers with the same part sum theirs. Rank 0 gets each sum once and keeps a copy of the whole network.
///
/// choice   The pair of layers and the size of the groups are those with which a worker sends the fewest floats: see
///          floats_sent(). The key model_parallel sets the size.
/// right    All workers together compute the gradient that one worker computes with all their samples, up to rounding.
///          Two runs with one seed are bit-equal.
/// faults   When a worker is gone, silent or failed, the step begins anew with the others, as in all_reduce. Their
///          shards are cut anew from rank 0's copy, so all of them get their state again. This also happens when a
///          worker joins.
/// memory   A worker has its part of the divided weights only, and of what the optimizer remembers for them.
/// source   Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014.
Status run_hybrid(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
