#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::serve {

/// What has come in through all protocols since the start, or between two moments.
struct TrafficCounts {
  std::uint64_t answered = 0;            // inferences with an answer
  std::uint64_t refused = 0;             // the queue was full
  std::uint64_t late = 0;                // the deadline had passed
  std::uint64_t failed = 0;              // for other reasons
  std::vector<std::uint64_t> latencies;  // of those with an answer, by bucket

  std::uint64_t requests() const { return answered + refused + late + failed; }
  /// What came after `earlier`.
  TrafficCounts since(const TrafficCounts& earlier) const;
  /// The latency that this share of the answered ones did not exceed, within 10 %; 0: there are none.
  Seconds quantile(double share) const;
};

/// Counts inferences and their latencies, from the whole request to the answer, without its transfer.
/// threads: any thread may call any method.
class Traffic {
 public:
  void answered(Seconds latency);
  void refused() { ++refused_; }
  void late() { ++late_; }
  void failed() { ++failed_; }
  TrafficCounts counts() const;

 private:
  // a bucket is a tenth wider than the one before it: 1 us to more than an hour
  static constexpr std::size_t kBuckets = 240;
  std::array<std::atomic<std::uint64_t>, kBuckets> latencies_{};
  std::atomic<std::uint64_t> refused_ = 0, late_ = 0, failed_ = 0;
};

}  // namespace mangrove::serve
