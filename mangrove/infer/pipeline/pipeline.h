#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Pipelined inference: the network is cut into stages of about equal measured cost, on different nodes, and the test
/// split streams through them as micro-batches.
///
/// Rank 0 leads: it is where micro-batches start (as ranges of sample numbers; the samples themselves are read by the
/// node of the first stage) and where predictions end. Before the pipeline one node classifies everything alone with
/// the unsplit network, as the baseline that speed and predictions are compared with.
///
/// window  at most so many micro-batches are without an answer at any time, which bounds every queue.
/// faults  a node that is lost begins a new generation: its stages move to another node, and every micro-batch without
/// an
///         answer is sent again. Messages of older generations are ignored, and a micro-batch counts once however often
///         it is answered; so every sample is answered exactly once.
/// source  Huang et al., GPipe: Efficient training of giant neural networks using pipeline parallelism, NeurIPS 2019.
Status run_pipeline(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
