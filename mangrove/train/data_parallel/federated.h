#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Workers that make steps of their own, and a leader that averages what they come to.
///
/// A round: rank 0 sends the values to the workers that take part in it (client_fraction, drawn by the seed). Each
/// makes local_steps steps of the job's optimizer on as many batches, or goes local_epochs times through its part of
/// the samples (1 with all workers: they meet at the end of every epoch; as many as the job has: only at the very end),
/// and answers with what it has changed. The mean of the changes, weighted by samples, is the gradient of an outer
/// step: plain with rate 1 it makes the values those of the average worker; with outer_momentum it is Nesterov's.
/// Running statistics are averaged. Workers keep what their optimizer remembers from one round to the next.
///
/// consistency  sync: a round waits for all that take part. k_of_n(K): nobody waits; an outer step is made with every K
///         answers (async: with each one), and an answer to values that are s steps old counts 1/(1 + s). stale(S):
///         async, but nobody begins while another is S steps behind.
/// faults  a worker that is gone, silent for step_timeout_s, or failed gives its samples back; they go to the others,
///         and every sample of an epoch counts exactly once. Workers say how far they are, so a round may take longer.
/// cost    per round and worker: n f32 one way and n f32 the other.
/// source  McMahan et al., Communication-efficient learning of deep networks from decentralized data, AISTATS 2017
///         (FedAvg); Douillard et al., DiLoCo, 2023 (outer momentum); Nguyen et al., Federated learning with buffered
///         asynchronous aggregation, AISTATS 2022 (k_of_n).
Status run_federated(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
