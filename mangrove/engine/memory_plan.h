#pragma once

#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove {

/// A buffer that must exist from step `first` to step `last`, both included.
struct BufferLife {
  Bytes bytes;
  int first;
  int last;
};

struct MemoryPlan {
  std::vector<Bytes> offsets;  // parallel to the buffers, multiples of kBufferAlignment
  Bytes total = 0;             // size of the arena
};

constexpr Bytes kBufferAlignment = 64;

/// Places every buffer in one arena so that buffers alive at the same step never overlap.
/// Greedy by size: the largest buffer first, each in the lowest gap that fits.
/// source: Pisarchyk & Lee, Efficient memory management for deep neural net inference, 2020 (greedy by size).
/// cost: O(n^2) in the number of buffers.
MemoryPlan plan_memory(std::span<const BufferLife> buffers);

}  // namespace mangrove
