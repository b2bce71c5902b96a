#pragma once

#include <cstdint>
#include <optional>

#include "mangrove/train/advice.h"

namespace mangrove::train {

/// Watches how fast a job trains. If one board alone would be faster, it says so once, as soon as that is known.
/// threads: one at a time.
class SpeedAdvisor {
 public:
  /// batch: samples of one board in a step. samples_per_epoch: of all boards together. now: see JobMeter.
  SpeedAdvisor(std::int64_t batch, std::int64_t samples_per_epoch, Seconds now)
      : batch_(batch), samples_per_epoch_(samples_per_epoch), meter_(now) {}

  /// See JobMeter.
  void add(net::Rank rank, std::int64_t samples, Seconds compute) { meter_.add(rank, samples, compute); }
  /// See JobMeter. Returns an advice the first time that one board alone is clearly faster.
  std::optional<Advice> end_update(Seconds now, std::size_t workers);
  /// The advice by the measurements so far. Nothing: there is one worker, or the measurements do not suffice.
  std::optional<Advice> advice() const;

 private:
  const std::int64_t batch_, samples_per_epoch_;
  JobMeter meter_;
  bool has_looked_ = false;  // since the speed is known
};

}  // namespace mangrove::train
