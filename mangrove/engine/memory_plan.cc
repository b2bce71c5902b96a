#include "mangrove/engine/memory_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

Bytes round_up_size(Bytes bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool alive_together(const BufferLife& a, const BufferLife& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::vector<std::size_t> largest_first(std::span<const BufferLife> buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  return order;
}

}  // namespace

MemoryPlan plan_memory(std::span<const BufferLife> buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size(), 0);
  std::vector<std::size_t> placed;  // by rising offset
  placed.reserve(buffers.size());
  for (const std::size_t index : largest_first(buffers)) {
    const BufferLife& buffer = buffers[index];
    MG_CHECK(buffer.bytes >= 0 && buffer.first <= buffer.last);
    const Bytes size = round_up_size(buffer.bytes);
    Bytes offset = 0;  // the lowest place not yet ruled out by a neighbour in time
    for (const std::size_t other : placed) {
      if (!alive_together(buffer, buffers[other])) continue;
      if (plan.offsets[other] >= offset + size) break;
      offset = std::max(offset, plan.offsets[other] + round_up_size(buffers[other].bytes));
    }
    plan.offsets[index] = offset;
    plan.total = std::max(plan.total, offset + size);
    const auto above = std::upper_bound(placed.begin(), placed.end(), offset,
                                        [&](Bytes at, std::size_t other) { return at < plan.offsets[other]; });
    placed.insert(above, index);
  }
  return plan;
}

}  // namespace mangrove
