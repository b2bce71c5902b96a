#pragma once

#include "mangrove/codec/codec.h"

/// The codecs of the table in codec.cc, each in the file of its name.
namespace mangrove::codec::rows {

CodecRow none();

}  // namespace mangrove::codec::rows
