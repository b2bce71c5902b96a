#include "mangrove/infer/pipeline/frame_work.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {
namespace {

Predictions answer_frame(std::uint64_t micro_batch, std::int32_t c) {
  Predictions predictions;
  predictions.set_micro_batch(micro_batch);
  predictions.add_classes(c);
  predictions.add_confidence(1);
  return predictions;
}

/// The second of two frames is answered first, and its answer turns out to be wrong before the first one is
/// answered.
TEST(FrameWork, AnAnswerThatIsNotToldYetCanBeDoneAgain) {
  InferJob job = small_job(0, 1);
  job.set_micro_batch(1);
  const SteadyClock clock;
  job::FrameQueue queue(clock);
  for (const char* name : {"first", "second"}) ASSERT_TRUE(queue.push({.name = name, .image = "i", .problem = {}}));
  queue.end();
  RoleWorld world(1);
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    Reports reports(context);
    FrameWork work(job, queue, {"0", "1"}, 2, reports);
    const Instant now = clock.now();
    EXPECT_EQ(work.next(now)->micro_batch(), 0u);
    EXPECT_EQ(work.next(now)->micro_batch(), 1u);
    EXPECT_EQ(work.redo(1), StreamWork::Redo::is_on_its_way);
    EXPECT_EQ(work.take(answer_frame(1, 0), now), StreamWork::Taken::accepted);
    EXPECT_EQ(work.redo(1), StreamWork::Redo::again);
    EXPECT_EQ(work.take(answer_frame(0, 1), now), StreamWork::Taken::accepted);
    EXPECT_EQ(work.redo(0), StreamWork::Redo::too_late);
    const auto again = work.next(now);
    EXPECT_TRUE(again && again->micro_batch() == 1 && again->frames(0) == "i");
    EXPECT_EQ(work.take(answer_frame(1, 1), now), StreamWork::Taken::accepted);
    EXPECT_TRUE(work.is_done());
    EXPECT_EQ(work.counts().frames, 2);
    EXPECT_EQ(work.counts().latencies.size(), 2u);
    return {};
  });
  std::string told;
  for (const Report& report : outcome.of_kind("answers")) told += report.json;
  EXPECT_EQ(told.find("\"class\":0"), std::string::npos) << told;
  EXPECT_NE(told.find("second"), std::string::npos) << told;
}

}  // namespace
}  // namespace mangrove::infer
