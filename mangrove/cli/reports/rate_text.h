#pragma once

#include <string>

#include "mangrove/base/units.h"

namespace mangrove::cli {

/// The rate of a link in bits, as data sheets have it: "100 Mbit/s". 0: "no limit".
std::string rate_text(BytesPerSecond rate);

/// "8 GFLOP/s"
std::string flops_text(double flops_per_s);

}  // namespace mangrove::cli
