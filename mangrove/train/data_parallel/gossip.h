#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Peer-to-peer averaging: each worker has its own values, and no link carries the values of all workers.
///
/// A round: every worker makes local_steps steps of the job's optimizer on its own values. It sends its values to its
/// neighbours and takes the average of its own values and theirs (Metropolis weights). Rank 0 gives the samples out and
/// names the neighbours of the round (see Neighbours). It collects the values of all workers and takes their mean when
/// the network is validated, saved or done, and when a worker joins or comes back; that worker begins with the mean.
/// Running statistics are averaged.
/// With a rule (see Aggregation) a worker goes on with what the rule makes of its own values and those of its
/// neighbours, and rank 0 takes the median of all workers' values.
///
/// right    Metropolis weights are symmetric, so an average leaves the mean over all workers as it is. In a connected
///          graph repeated averages bring all workers to that mean.
/// faults   A worker averages with those neighbours that answer within a third of step_timeout_s. A worker that is
///          gone, silent for step_timeout_s, or failed gives its samples back. They go to the others, and every sample
///          of an epoch counts exactly once. What a lost worker has learnt is kept only in the values of its
///          neighbours.
/// cost     Each round moves n f32 from each worker to each of its neighbours. Only sample numbers travel to rank 0 and
///          back.
/// source   Lian et al., Can decentralized algorithms outperform centralized algorithms? A case study for decentralized
///          parallel stochastic gradient descent, NIPS 2017 (D-PSGD); Xiao & Boyd, Fast linear iterations for
///          distributed averaging, 2004 (weights).
Status run_gossip(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
