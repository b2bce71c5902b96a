#pragma once

#include "mangrove/infer/strategy_row.h"

/// All strategies, in the order of `--help`. Each is the name of a function that makes its row. It is in the file of
/// the strategy.
#define MG_INFERENCE_STRATEGIES pipeline, tiles, single, ensemble, averaging, tiers, views

namespace mangrove::infer::rows {

using MakeRow = Strategy();
MakeRow MG_INFERENCE_STRATEGIES;
inline constexpr MakeRow* kAll[] = {MG_INFERENCE_STRATEGIES};

}  // namespace mangrove::infer::rows
