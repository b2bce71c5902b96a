#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Federated averaging: workers make several steps of their own, and the leader averages their changes.
///
/// A round: rank 0 sends the values to the workers that take part in it (client_fraction, drawn by the seed). Each
/// worker makes local_steps steps of the job's optimizer, each on one batch. With local_epochs it goes that many times
/// through its part of the samples instead: with 1 the workers meet at the end of every epoch, with all epochs of the
/// job they meet once, at the very end. Then the worker answers with the change of its values. The leader takes the
/// mean of the changes, weighted by samples, as the gradient of an outer step. A plain outer step with rate 1 sets the
/// values to the mean of the workers' values; outer_momentum makes it a Nesterov step. Running statistics are averaged.
/// Workers keep their optimizer's state from one round to the next.
///
/// consistency  sync: a round waits for all workers that take part. k_of_n(K): no worker waits; the leader makes an
///              outer step with every K answers (async: with every answer), and an answer to values that are s steps
///              old counts 1/(1 + s). stale(S): as async, but no worker begins while another is S steps behind.
/// right        With one local step of plain SGD and outer rate 1, the mean of the changes is one synchronous step.
///              With more local steps it is an approximation: workers drift apart between two averages, and the more
///              their data differ, the more they drift.
/// faults       A worker that is gone, silent for step_timeout_s, or failed gives its samples back. They go to the
///              others, and every sample of an epoch counts exactly once. Workers report their progress, so a round may
///              take longer than the timeout.
/// cost         Each round moves n f32 to each worker that takes part and n f32 back, whatever the number of local
///              steps. A codec makes these messages smaller.
/// source       McMahan et al., Communication-efficient learning of deep networks from decentralized data, AISTATS 2017
///              (FedAvg); Douillard et al., DiLoCo, 2023 (outer momentum); Nguyen et al., Federated learning with
///              buffered asynchronous aggregation, AISTATS 2022 (k_of_n).
Status run_federated(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
