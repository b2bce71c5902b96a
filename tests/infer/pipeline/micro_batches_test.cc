#include "mangrove/infer/pipeline/micro_batches.h"

#include <gtest/gtest.h>

#include "mangrove/base/random.h"

namespace mangrove::infer {
namespace {

TEST(MicroBatches, CoverEverySampleOnce) {
  for (const std::int64_t samples : {0, 1, 7, 8, 9, 64}) {
    MicroBatches batches(samples, 8, 3);
    std::int64_t next = 0;
    for (std::uint64_t id = 0; batches.exists(id); ++id) {
      EXPECT_EQ(batches.part(id).begin, next);
      EXPECT_GE(batches.part(id).count, 1);
      next += batches.part(id).count;
    }
    EXPECT_EQ(next, samples);
    EXPECT_EQ(batches.done(), samples == 0);
  }
}

TEST(MicroBatches, TheWindowBoundsWhatIsInFlight) {
  MicroBatches batches(80, 8, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(batches.send_next({0}));
  EXPECT_FALSE(batches.send_next({0}));
  EXPECT_TRUE(batches.answer(1));
  EXPECT_EQ(batches.send_next({0})->id, 3u);
  EXPECT_FALSE(batches.send_next({0}));
}

TEST(MicroBatches, ASecondAnswerDoesNotCount) {
  MicroBatches batches(8, 8, 1);
  batches.send_next({0});
  EXPECT_TRUE(batches.answer(0));
  EXPECT_FALSE(batches.answer(0));
  EXPECT_FALSE(batches.answer(99));
  EXPECT_TRUE(batches.done());
}

TEST(MicroBatches, ANewGenerationBeginsWithTheOldestUnanswered) {
  MicroBatches batches(80, 8, 4);
  for (int i = 0; i < 4; ++i) batches.send_next({0});
  batches.answer(2);
  batches.resend_all();
  EXPECT_EQ(batches.in_flight(), 0u);
  for (const std::uint64_t id : {0, 1, 3, 4}) EXPECT_EQ(batches.send_next({1})->id, id);
}

TEST(MicroBatches, TheOverdueAreSentAgainOncePerTimeout) {
  MicroBatches batches(80, 8, 2);
  batches.send_next({0});
  batches.send_next({6});
  using BatchIds = std::vector<std::uint64_t>;
  EXPECT_EQ(batches.resend_overdue({9}, 10), BatchIds());
  EXPECT_EQ(batches.resend_overdue({11}, 10), BatchIds({0}));
  EXPECT_EQ(batches.send_next({11})->id, 0u);
  EXPECT_EQ(batches.resend_overdue({12}, 10), BatchIds());
  EXPECT_EQ(batches.resend_overdue({30}, 10), BatchIds({0, 1}));
  EXPECT_TRUE(batches.answer(0));  // a late one makes the repetition needless
  EXPECT_EQ(batches.send_next({30})->id, 1u);
}

TEST(MicroBatches, EveryOneIsAnsweredWhateverIsLost) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const auto samples = static_cast<std::int64_t>(random.below(100));
    MicroBatches batches(samples, 1 + static_cast<std::int64_t>(random.below(9)), 1 + random.below(5));
    std::vector<std::uint64_t> travelling;
    std::size_t accepted = 0;
    for (int now = 0; !batches.done(); ++now) {
      ASSERT_LT(now, 100'000) << "seed " << seed;
      const Instant instant{static_cast<double>(now)};
      while (const auto part = batches.send_next(instant)) {
        if (random.below(5) > 0) travelling.push_back(part->id);
        if (random.below(9) == 0) travelling.push_back(part->id);
      }
      if (random.below(20) == 0) batches.resend_all();
      batches.resend_overdue(instant, 10);
      if (travelling.empty()) continue;
      random.shuffle(std::span(travelling));
      if (batches.answer(travelling.back())) ++accepted;
      travelling.pop_back();
    }
    EXPECT_EQ(accepted, batches.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mangrove::infer
