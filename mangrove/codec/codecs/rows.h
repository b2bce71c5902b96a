#pragma once

#include "mangrove/codec/codec.h"

/// The codecs of the table in codec.cc, each in the file of its name.
namespace mangrove::codec::rows {

CodecRow none();
CodecRow fp16();
CodecRow bf16();
CodecRow int8();
CodecRow one_bit();
CodecRow terngrad();
CodecRow qsgd();
CodecRow top_k();
CodecRow random_k();
CodecRow threshold();
CodecRow variance();
CodecRow dgc();
CodecRow esgd();
CodecRow two_step();
CodecRow structured_mask();
CodecRow structured_low_rank();
CodecRow sketched();
CodecRow power();

}  // namespace mangrove::codec::rows
