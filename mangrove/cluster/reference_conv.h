#pragma once

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"

namespace mangrove::cluster {

/// FLOP/s of a reference convolution on this device, measured for about a tenth of a second: [8,16,32,32] by 16 filters
/// of 3x3, stride 1, padding 1, f32, with the fastest backend. Two FLOPs per multiplication and addition. errors: those
/// of the engine.
Result<double> measure_reference_conv(int threads, const Clock& clock);

}  // namespace mangrove::cluster
