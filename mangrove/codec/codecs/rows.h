#pragma once

#include "mangrove/codec/codec.h"

/// All codecs, in the order of the page and of `--help`. Each is the name of its file, and of the function there that
/// makes its row.
#define MG_CODECS                                                                                                   \
  none, fp16, bf16, int8, one_bit, sign, terngrad, qsgd, top_k, random_k, threshold, variance, dgc, esgd, two_step, \
      structured_mask, structured_low_rank, sketched, power

namespace mangrove::codec::rows {

using MakeRow = CodecRow();
MakeRow MG_CODECS;
inline constexpr MakeRow* kAll[] = {MG_CODECS};

}  // namespace mangrove::codec::rows
