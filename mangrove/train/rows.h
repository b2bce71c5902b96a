#pragma once

#include "mangrove/train/strategy_row.h"

/// All strategies, in the order of `--help`. Each is the name of a function that makes its row. It is in the file of
/// the strategy.
#define MG_TRAINING_STRATEGIES parameter_server, all_reduce, hybrid, federated, gossip, gpipe, one_f_one_b, pipedream

namespace mangrove::train::rows {

using MakeRow = Strategy();
MakeRow MG_TRAINING_STRATEGIES;
inline constexpr MakeRow* kAll[] = {MG_TRAINING_STRATEGIES};

}  // namespace mangrove::train::rows
