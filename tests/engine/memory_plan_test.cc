#include "mangrove/engine/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "mangrove/base/random.h"

namespace mangrove {
namespace {

Bytes aligned(Bytes bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool alive_together(const BufferLife& a, const BufferLife& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::vector<BufferLife> random_buffers(Random& random, std::size_t count, int steps, Bytes largest) {
  std::vector<BufferLife> buffers;
  for (std::size_t i = 0; i < count; ++i) {
    const int a = static_cast<int>(random.below(static_cast<std::uint64_t>(steps)));
    const int b = static_cast<int>(random.below(static_cast<std::uint64_t>(steps)));
    const auto bytes = static_cast<Bytes>(random.below(static_cast<std::uint64_t>(largest) + 1));
    buffers.push_back({bytes, std::min(a, b), std::max(a, b)});
  }
  return buffers;
}

// The most that is alive at any one step: no plan can be smaller.
Bytes lower_bound_of(const std::vector<BufferLife>& buffers, int steps) {
  Bytes most = 0;
  for (int step = 0; step < steps; ++step) {
    Bytes alive = 0;
    for (const BufferLife& buffer : buffers) {
      if (buffer.first <= step && step <= buffer.last) alive += aligned(buffer.bytes);
    }
    most = std::max(most, alive);
  }
  return most;
}

// The best of all orders in which buffers can be put at their lowest place: an optimal plan is among them, for its
// buffers sorted by offset can be moved down one after the other.
Bytes best_total(const std::vector<BufferLife>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Bytes best = std::numeric_limits<Bytes>::max();
  do {
    std::vector<Bytes> offsets(buffers.size(), 0);
    Bytes total = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (!alive_together(buffers[order[i]], buffers[order[k]])) continue;
        offsets[order[i]] = std::max(offsets[order[i]], offsets[order[k]] + aligned(buffers[order[k]].bytes));
      }
      total = std::max(total, offsets[order[i]] + aligned(buffers[order[i]].bytes));
    }
    best = std::min(best, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

void expect_valid(const std::vector<BufferLife>& buffers, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_EQ(plan.offsets[i] % kBufferAlignment, 0);
    ASSERT_GE(plan.offsets[i], 0);
    ASSERT_LE(plan.offsets[i] + buffers[i].bytes, plan.total);
    for (std::size_t k = 0; k < i; ++k) {
      if (!alive_together(buffers[i], buffers[k])) continue;
      const bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[k] ||
                         plan.offsets[k] + buffers[k].bytes <= plan.offsets[i] || buffers[i].bytes == 0 ||
                         buffers[k].bytes == 0;
      ASSERT_TRUE(apart) << "buffers " << k << " and " << i;
    }
  }
}

TEST(MemoryPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).total, 0);
}

TEST(MemoryPlan, BuffersThatFollowEachOtherShareOnePlace) {
  const std::vector<BufferLife> buffers{{100, 0, 1}, {300, 2, 3}, {200, 4, 4}};
  const MemoryPlan plan = plan_memory(buffers);
  EXPECT_EQ(plan.total, 320);
  EXPECT_EQ(plan.offsets, (std::vector<Bytes>{0, 0, 0}));
}

TEST(MemoryPlan, AGapBetweenLiveBuffersIsUsed) {
  const std::vector<BufferLife> buffers{{640, 0, 9}, {320, 0, 2}, {256, 0, 9}, {192, 4, 5}};
  const MemoryPlan plan = plan_memory(buffers);
  EXPECT_EQ(plan.offsets[1], 640);
  EXPECT_EQ(plan.offsets[2], 960);
  EXPECT_EQ(plan.offsets[3], 640);
}

TEST(MemoryPlan, LiveBuffersNeverOverlap) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto count = static_cast<std::size_t>(random.below(60));
    const auto buffers = random_buffers(random, count, 20, 5000);
    const MemoryPlan plan = plan_memory(buffers);
    expect_valid(buffers, plan);
    EXPECT_GE(plan.total, lower_bound_of(buffers, 20));
    Bytes sum = 0;
    for (const BufferLife& buffer : buffers) sum += aligned(buffer.bytes);
    EXPECT_LE(plan.total, sum);
  }
}

TEST(MemoryPlan, IsNearTheBestPlanOfSmallCases) {
  double worst = 1, total_ratio = 0;
  constexpr int kCases = 60;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed + 1000);
    const auto buffers = random_buffers(random, 6, 6, 2000);
    const Bytes found = plan_memory(buffers).total, best = best_total(buffers);
    ASSERT_GE(found, best);
    ASSERT_GE(best, lower_bound_of(buffers, 6));
    const double ratio = static_cast<double>(found) / static_cast<double>(best);
    worst = std::max(worst, ratio);
    total_ratio += ratio;
  }
  EXPECT_LE(worst, 1.5);
  EXPECT_LE(total_ratio / kCases, 1.05);
}

}  // namespace
}  // namespace mangrove
