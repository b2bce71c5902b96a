#include "mangrove/base/awake_clock.h"

#include <algorithm>

#include "mangrove/base/stop.h"

namespace mangrove {
namespace {

constexpr Seconds kTick = AwakeClock::kMostAtOnce / 5;

}  // namespace

AwakeClock::AwakeClock() : AwakeClock(steady_) {
  ticker_ = std::jthread([this](const std::stop_token& stop) {
    while (!wait_for_stop(stop, kTick)) now();
  });
}

AwakeClock::AwakeClock(const Clock& machine) : machine_(machine), read_(machine.now()), awake_(read_) {}

Instant AwakeClock::now() const {
  MutexLock lock(mutex_);
  const Instant read = machine_.now();
  awake_ = awake_ + std::clamp(read - read_, 0.0, kMostAtOnce);
  read_ = read;
  return awake_;
}

void AwakeClock::sleep_until(Instant instant) {
  SteadyClock steady;
  for (Seconds left = instant - now(); left > 0; left = instant - now())
    steady.sleep_until(steady.after(std::min(left, kMostAtOnce)));
}

}  // namespace mangrove
