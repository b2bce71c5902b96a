#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "mangrove/base/units.h"

namespace mangrove::infer {

/// Counts of the frames, by outcome.
struct FrameCounts {
  std::int64_t frames = 0;          // all answered frames
  std::int64_t unreadable = 0;      // files that are no images
  std::int64_t missed = 0;          // their deadline passed
  std::deque<Seconds> latencies{};  // from arrival to answer, of the last kMostLatencies other frames
  static constexpr std::size_t kMostLatencies = 100'000;
};

}  // namespace mangrove::infer
