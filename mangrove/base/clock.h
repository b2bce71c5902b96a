#pragma once

#include <compare>
#include <limits>

#include "mangrove/base/units.h"

namespace mangrove {

/// A point in time, in seconds since an epoch that only its Clock knows.
struct Instant {
  Seconds seconds = 0;

  auto operator<=>(const Instant&) const = default;
  static constexpr Instant never() { return {std::numeric_limits<double>::infinity()}; }
};

constexpr Instant operator+(Instant instant, Seconds duration) {
  return {instant.seconds + duration};
}
constexpr Seconds operator-(Instant later, Instant earlier) {
  return later.seconds - earlier.seconds;
}

/// The Instant by which a wait must end.
using Deadline = Instant;

/// Time as a strategy sees it: real, or virtual in a simulated world. Strategies never read another clock.
/// threads: any thread may call any method.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  virtual void sleep_until(Instant instant) = 0;

  Deadline after(Seconds duration) const { return now() + duration; }
};

/// The machine's monotonic clock.
class SteadyClock final : public Clock {
 public:
  Instant now() const override;
  void sleep_until(Instant instant) override;
};

}  // namespace mangrove
