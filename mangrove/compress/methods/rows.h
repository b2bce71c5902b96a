#pragma once

#include "mangrove/compress/method.h"

/// All methods, in the order of the page and of `--help`. Each is the name of its file, and of the function there that
/// makes its row.
#define MG_COMPRESSION_METHODS prune, share, channels, low_rank, train

namespace mangrove::compress::rows {

using MakeRow = MethodRow();
MakeRow MG_COMPRESSION_METHODS;
inline constexpr MakeRow* kAll[] = {MG_COMPRESSION_METHODS};

}  // namespace mangrove::compress::rows
