#include "mangrove/base/clock.h"

#include <chrono>
#include <thread>

namespace mangrove {

Instant SteadyClock::now() const {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

void SteadyClock::sleep_until(Instant instant) {
  const Seconds wait = instant - now();
  if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
}

}  // namespace mangrove
