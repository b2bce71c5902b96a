#pragma once

#include <stop_token>

#include "mangrove/base/units.h"

namespace mangrove {

/// Waits, in real time, until stop is requested. threads: any.
void wait_for_stop(const std::stop_token& stop);
/// The same, but no longer than this. Whether stop is requested.
bool wait_for_stop(const std::stop_token& stop, Seconds at_most);

}  // namespace mangrove
