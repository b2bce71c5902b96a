#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Peer-to-peer averaging: no link carries the values of all.
///
/// A round: every worker makes local_steps steps of the job's optimizer on its own values, sends them to its neighbours
/// and averages them with theirs (Metropolis weights). Rank 0 gives the samples out, names the neighbours of the round
/// (see Neighbours), and collects the values of all workers, of which it takes the mean, when the network is validated,
/// saved or done, and when a worker comes in or back, which begins with that mean. Running statistics are averaged.
///
/// faults  a worker averages with those that answer within a third of step_timeout_s. A worker that is gone, silent for
///         step_timeout_s, or failed gives its samples back; they go to the others, and every sample of an epoch counts
///         exactly once. What a worker has learnt that is lost lives on in its neighbours only.
/// cost    per round and worker: n f32 to each neighbour; to and from rank 0 only indices.
/// source  Lian et al., Can decentralized algorithms outperform centralized algorithms? A case study for decentralized
///         parallel stochastic gradient descent, NIPS 2017 (D-PSGD).
Status run_gossip(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
