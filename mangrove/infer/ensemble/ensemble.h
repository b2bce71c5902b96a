#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Inference with several networks for the same samples (job.members), each for some of the classes: one-vs-rest.
///
/// Rank 0 leads and gives each board one network. The board gets the network once, classifies all samples with it, and
/// sends the outputs in chunks. When it is done, it gets the next network that no board has, so fast boards take more
/// of them. When all networks are done, rank 0 adds their outputs up and decides (votes.h).
///
/// right    Every network classifies every sample exactly once, and the decision depends only on the outputs. So it is
///          the same as on one board, wherever the networks ran.
/// faults   If a board is lost or silent, its network starts from the beginning on another board. Each network is tried
///          at most ten times.
/// cost     A network travels once to each board that gets it and does not have it. For each sample and network, 4 k
///          bytes of outputs go to rank 0, where the network has k outputs, and 2 or 3 bytes for the prediction and the
///          label. Boards exchange nothing among themselves.
/// source   Rifkin & Klautau, In defense of one-vs-all classification, JMLR 2004.
Status run_ensemble(const InferJob& job, job::RoleContext& context);

/// Works as run_ensemble() does, but every network knows all classes. The decision is the class with the highest mean
/// probability over the networks. source: Hansen & Salamon, Neural network ensembles, IEEE Transactions on Pattern
/// Analysis and Machine Intelligence, 1990.
Status run_averaging(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
