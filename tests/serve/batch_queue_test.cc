#include "mangrove/serve/batch_queue.h"

#include <gtest/gtest.h>

namespace mangrove::serve {
namespace {

struct Asked {
  std::int64_t samples = 1;
  int priority = 0;
  Bytes bytes = 10;
  Deadline deadline = Deadline::never();
};

/// One that does not wait for others.
std::shared_ptr<PendingRequest> pending(const Asked& asked) {
  RequestContent content{.inputs = {},
                         .outputs = {},
                         .samples = asked.samples,
                         .bytes = asked.bytes,
                         .priority = asked.priority,
                         .deadline = asked.deadline};
  return std::make_shared<PendingRequest>(std::move(content), [](const auto&) {});
}

/// The samples of each part of a batch, and which of the requests they are of.
std::vector<std::pair<std::size_t, std::int64_t>> parts_of(const Batch& batch,
                                                           const std::vector<std::shared_ptr<PendingRequest>>& of) {
  std::vector<std::pair<std::size_t, std::int64_t>> parts;
  for (const BatchPart& part : batch.parts)
    parts.emplace_back(std::ranges::find(of, part.request) - of.begin(), part.count);
  return parts;
}
using Parts = std::vector<std::pair<std::size_t, std::int64_t>>;

std::vector<std::shared_ptr<PendingRequest>> push_all(BatchQueue& queue, const std::vector<Asked>& all) {
  std::vector<std::shared_ptr<PendingRequest>> requests;
  for (const Asked& asked : all) {
    requests.push_back(pending(asked));
    EXPECT_TRUE(queue.push(requests.back()).ok());
  }
  return requests;
}

TEST(BatchQueue, HigherPrioritiesComeFirstThenEarlierRequests) {
  BatchQueue queue({.max_batch = 3});
  const auto requests = push_all(queue, {{.priority = 0}, {.priority = 5}, {.priority = -1}, {.priority = 5}});
  EXPECT_EQ(parts_of(*queue.take(), requests), (Parts{{1, 1}, {3, 1}, {0, 1}}));
  EXPECT_EQ(parts_of(*queue.take(), requests), (Parts{{2, 1}}));
}

TEST(BatchQueue, ARequestThatDoesNotFitIsCut) {
  BatchQueue queue({.max_batch = 4});
  const auto requests = push_all(queue, {{.samples = 3}, {.samples = 6}});
  const auto first = queue.take();
  EXPECT_EQ(parts_of(*first, requests), (Parts{{0, 3}, {1, 1}}));
  EXPECT_EQ(queue.waiting(), 1);
  const auto second = queue.take();
  EXPECT_EQ(parts_of(*second, requests), (Parts{{1, 4}}));
  EXPECT_EQ(second->parts[0].first, 1);
  EXPECT_EQ(queue.take()->parts[0].first, 5);
  EXPECT_EQ(queue.waiting(), 0);
}

TEST(BatchQueue, RequestsThatDoNotCombineComeOneByOne) {
  BatchQueue queue({.max_batch = 4, .combines = false});
  const auto requests = push_all(queue, {{}, {}});
  EXPECT_EQ(parts_of(*queue.take(), requests), (Parts{{0, 1}}));
  EXPECT_EQ(parts_of(*queue.take(), requests), (Parts{{1, 1}}));
}

TEST(BatchQueue, ARequestWhoseDeadlineHasPassedIsNotComputed) {
  BatchQueue queue({.max_batch = 4});
  const auto requests = push_all(queue, {{}, {.deadline = Instant{0}}});
  const auto batch = queue.take();
  ASSERT_EQ(batch->expired.size(), 1u);
  EXPECT_EQ(batch->expired[0], requests[1]);
  EXPECT_EQ(parts_of(*batch, requests), (Parts{{0, 1}}));
}

TEST(BatchQueue, MoreRequestsThanMayWaitAreRefused) {
  BatchQueue queue({.max_batch = 4, .max_requests = 2});
  push_all(queue, {{}, {}});
  const Status refused = queue.push(pending({}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::resource_exhausted);
  EXPECT_EQ(refused.error().message, "2 requests wait, and max_queue allows no more; try again later");
}

TEST(BatchQueue, BytesAreTakenUntilTheyAreReleased) {
  BatchQueue queue({.max_batch = 4, .max_bytes = 25});
  push_all(queue, {{}, {}});
  EXPECT_TRUE(queue.take());
  const Status refused = queue.push(pending({}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::resource_exhausted);
  EXPECT_EQ(refused.error().message,
            "unanswered requests take 20 B and this one 10 B; queue_bytes allows 25 B; try again later");
  queue.release(10);
  EXPECT_TRUE(queue.push(pending({})).ok());
}

TEST(BatchQueue, AClosedQueueIsEmptiedAndTakesNoMore) {
  BatchQueue queue({.max_batch = 4});
  push_all(queue, {{}});
  queue.close();
  const Status refused = queue.push(pending({}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::unavailable);
  EXPECT_EQ(queue.take()->parts.size(), 1u);
  EXPECT_FALSE(queue.take());
}

TEST(TakeSamples, CutsThePartThatHasMore) {
  const auto request = pending({.samples = 9});
  std::vector<BatchPart> parts{{request, 0, 3}, {request, 3, 6}};
  const auto taken = take_samples(parts, 5);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[1].count, 2);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].first, 5);
  EXPECT_EQ(parts[0].count, 4);
  EXPECT_EQ(samples_of(take_samples(parts, 4)), 4);
  EXPECT_TRUE(parts.empty());
}

}  // namespace
}  // namespace mangrove::serve
