#include "mangrove/infer/pipeline/dataset_work.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/infer/inference_job.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kDatasetWorkSamples = 4;  // one micro-batch
constexpr Seconds kDeadline = 1;

/// Work for one micro-batch of four samples, with ten classes.
class DatasetWorkTest : public ::testing::Test {
 protected:
  DatasetWorkTest() : job_(small_job(kDatasetWorkSamples, 1)) {
    data_.set_samples(kDatasetWorkSamples);
    for (int c = 0; c < 10; ++c) data_.add_classes(std::to_string(c));
  }

  /// Runs the test as rank 0 of a world, which has reports.
  void run(const std::function<void(DatasetWork& work)>& test) {
    RoleWorld world(1);
    world.run([&](job::RoleContext& context) -> Status {
      Reports reports(context);
      DatasetWork work(job_, data_, 1, reports);
      work.begin({0});
      test(work);
      return {};
    });
  }

  InferJob job_;
  Hello data_;
};

Predictions answer_sample(std::int32_t c) {
  Predictions predictions;
  for (std::int64_t i = 0; i < kDatasetWorkSamples; ++i) {
    predictions.add_classes(c);
    predictions.add_truths(0);
  }
  return predictions;
}

Predictions missed() {
  Predictions predictions;
  predictions.set_missed(true);
  return predictions;
}

TEST_F(DatasetWorkTest, NothingIsLeftOfAnAnswerThatIsDoneAgain) {
  job_.set_deadline_s(kDeadline);
  run([](DatasetWork& work) {
    ASSERT_TRUE(work.next({0}));
    ASSERT_EQ(work.take(answer_sample(7), {0.5}), StreamWork::Taken::accepted);
    ASSERT_EQ(work.redo(0), StreamWork::Redo::again);
    EXPECT_EQ(work.answers().latencies, (std::vector<std::optional<Seconds>>{std::nullopt}));
    ASSERT_TRUE(work.next({10}));
    ASSERT_EQ(work.take(missed(), {12}), StreamWork::Taken::accepted);
    EXPECT_EQ(work.answers().predictions, std::vector<std::int32_t>(kDatasetWorkSamples, -1));
    EXPECT_EQ(work.answers().missed, kDatasetWorkSamples);
    ASSERT_EQ(work.redo(0), StreamWork::Redo::again);
    EXPECT_EQ(work.answers().missed, 0);
    EXPECT_EQ(work.redo(0), StreamWork::Redo::is_on_its_way);
    ASSERT_TRUE(work.next({20}));
    ASSERT_EQ(work.take(answer_sample(3), {20.25}), StreamWork::Taken::accepted);
    EXPECT_EQ(work.answers().predictions, std::vector<std::int32_t>(kDatasetWorkSamples, 3));
    EXPECT_EQ(work.answers().deliveries, std::vector<std::int32_t>(kDatasetWorkSamples, 1));
    EXPECT_EQ(work.answers().missed, 0);
    EXPECT_EQ(work.answers().latencies, (std::vector<std::optional<Seconds>>{0.25}));
  });
}

TEST_F(DatasetWorkTest, WhoIsAskedLaterHasAsMuchTime) {
  run([](DatasetWork& work) {
    ASSERT_TRUE(work.next({0}));
    work.copy(0, {8});
    EXPECT_EQ(work.resend_overdue({17}, 10), std::vector<std::uint64_t>());
    EXPECT_EQ(work.resend_overdue({19}, 10), std::vector<std::uint64_t>{0});
  });
}

TEST_F(DatasetWorkTest, NobodyMissesADeadlineThatHasNotPassed) {
  run([](DatasetWork& work) {
    ASSERT_TRUE(work.next({0}));
    EXPECT_EQ(work.look(missed(), {5}), StreamWork::Taken::ignored) << "there is none";
  });
  job_.set_deadline_s(kDeadline);
  run([](DatasetWork& work) {
    EXPECT_EQ(work.look(missed(), {5}), StreamWork::Taken::ignored) << "it was not sent";
    ASSERT_TRUE(work.next({0}));
    EXPECT_EQ(work.take(missed(), {0.99}), StreamWork::Taken::ignored);
    EXPECT_EQ(work.take(missed(), {1.01}), StreamWork::Taken::accepted);
    EXPECT_EQ(work.look(missed(), {1.01}), StreamWork::Taken::repeated);
  });
}

}  // namespace
}  // namespace mangrove::infer
