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
CodecRow two_step();

}  // namespace mangrove::codec::rows
