#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "mangrove/base/units.h"

namespace mangrove::infer {

/// What became of the frames.
struct FrameCounts {
  std::int64_t frames = 0;          // answered in any way
  std::int64_t unreadable = 0;      // no images
  std::int64_t missed = 0;          // their deadline passed
  std::deque<Seconds> latencies{};  // of the others, from when they came: of the last kMostLatencies
  static constexpr std::size_t kMostLatencies = 100'000;
};

}  // namespace mangrove::infer
