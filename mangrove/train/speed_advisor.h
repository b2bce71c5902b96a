#pragma once

#include <cstdint>
#include <optional>

#include "mangrove/train/advice.h"

namespace mangrove::train {

/// Watches how fast a job trains, and says once, as soon as that is known, where one board alone would be faster.
/// threads: one at a time.
class SpeedAdvisor {
 public:
  /// batch: samples of each board in a step; samples_per_epoch: of all boards together; now: see JobMeter.
  SpeedAdvisor(std::int64_t batch, std::int64_t samples_per_epoch, Seconds now)
      : batch_(batch), samples_per_epoch_(samples_per_epoch), meter_(now) {}

  /// See JobMeter.
  void add(net::Rank rank, std::int64_t samples, Seconds compute) { meter_.add(rank, samples, compute); }
  /// The same. Returns that one board alone would be faster, the first time that this is clear.
  std::optional<Advice> end_update(Seconds now, std::size_t workers);
  /// By what was measured so far; nothing for one worker, or where that says nothing.
  std::optional<Advice> advice() const;

 private:
  const std::int64_t batch_, samples_per_epoch_;
  JobMeter meter_;
  bool has_looked_ = false;  // since it is clear
};

}  // namespace mangrove::train
