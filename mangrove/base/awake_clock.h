#pragma once

#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"

namespace mangrove {

/// Another clock, without the time in which nobody read it. With a ticker this is the time in which the process itself
/// ran: while it is stopped (SIGSTOP), swapped out, or its machine is paused, it can hear nobody, so no deadline of its
/// watchers may pass. When it wakes, everyone has the time left that there was before, and what they have said
/// meanwhile is read first. Its epoch is its own: Deadlines of this clock mean nothing to others.
/// threads: any thread may call any method.
class AwakeClock final : public Clock {
 public:
  /// Counts at most this much between two readings.
  static constexpr Seconds kMostAtOnce = 0.5;

  /// Measures the machine's clock, which a thread of this object reads all the time.
  AwakeClock();
  /// machine: outlives this. Only now() reads it.
  explicit AwakeClock(const Clock& machine);

  Instant now() const override;
  void sleep_until(Instant instant) override;

 private:
  const SteadyClock steady_;
  const Clock& machine_;
  mutable Mutex mutex_;
  mutable Instant read_ MG_GUARDED_BY(mutex_);   // of the machine's clock, last
  mutable Instant awake_ MG_GUARDED_BY(mutex_);  // this clock then
  std::jthread ticker_;
};

}  // namespace mangrove
