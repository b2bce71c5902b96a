#pragma once

#include "mangrove/codec/codec.h"

/// The codecs of the table in codec.cc, each in the file of its name.
namespace mangrove::codec::rows {

CodecRow none();
CodecRow top_k();
CodecRow random_k();
CodecRow threshold();
CodecRow variance();
CodecRow dgc();
CodecRow two_step();

}  // namespace mangrove::codec::rows
