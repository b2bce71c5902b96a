#include "mangrove/base/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mangrove {

Instant SteadyClock::now() const {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

void SteadyClock::sleep_until(Instant instant) {
  constexpr Seconds kAtOnce = 3600;  // much more than the system's clock can count would end at once
  for (Seconds wait = instant - now(); wait > 0; wait = instant - now())
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(wait, kAtOnce)));
}

}  // namespace mangrove
