#include "mangrove/train/data_parallel/shared_samples.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/base/sanitizer.h"
#include "tests/train/data_parallel/paced_worker.h"

#include "mangrove/base/mutex.h"
#include "mangrove/train/job_settings.h"

namespace mangrove::train {
namespace {

using Samples = SharedSamples::Samples;

constexpr std::int64_t kAll = 1000;

TEST(SharedSamples, AreJoinedInProportionAndEvenly) {
  const SharedSamples shared(0.05, kAll, 10, 1);  // 50 of them; 100 own ones for each worker
  Samples own(80);
  std::iota(own.begin(), own.end(), 2000u);  // told from the shared ones by their numbers
  const Samples all = shared.joined(own, 3, 2);
  ASSERT_EQ(all.size(), 120u);
  Samples kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] >= kAll) kept.push_back(all[i]);
    ASSERT_NEAR(static_cast<double>(kept.size()), static_cast<double>(i + 1) * 2 / 3, 1) << "evenly";
  }
  EXPECT_EQ(kept, own) << "in their order";
}

TEST(SharedSamples, AreTheSameForAllAndSeldomTwice) {
  const SharedSamples shared(0.05, kAll, 10, 1);
  std::map<std::uint32_t, int> times;
  for (net::Rank rank = 1; rank <= 10; ++rank) {
    const Samples joined = shared.joined(Samples(100, kAll), 0, rank);  // all that such a worker owns
    for (const std::uint32_t sample : joined) ++times[sample];
  }
  EXPECT_EQ(times.size(), 51u);
  for (const auto& [sample, count] : times) EXPECT_EQ(count, sample == kAll ? 1000 : 10) << "each once in an epoch";
  const Samples own(7, 0);
  EXPECT_EQ(shared.joined(own, 4, 2), shared.joined(own, 4, 2));
  EXPECT_NE(shared.joined(own, 4, 2), shared.joined(own, 5, 2));
  EXPECT_NE(shared.joined(own, 4, 2), SharedSamples(0.05, kAll, 10, 2).joined(own, 4, 2));
  EXPECT_EQ(SharedSamples(1e-9, kAll, 10, 1).joined(own, 4, 2), own);
}

TrainJob job_with_own_samples(std::int64_t samples, double shared) {
  TrainJob job = small_job(samples);
  job.set_strategy("federated");
  job.set_split("by_label(1)");
  job.set_local_steps(4);
  job.set_shared_samples(static_cast<float>(shared));
  job.set_step_timeout_s(20);
  return job;
}

TEST(SharedSamples, OwnOnesStillCountOnce) {
  TrainJob job = job_with_own_samples(300, 0.1);
  job.set_epochs(2);
  Mutex mutex;
  std::map<std::uint32_t, int> times;
  RoleWorld world(4);
  world.use_virtual_time();
  world.cancel_at_end();
  for (net::Rank rank = 1; rank <= 3; ++rank) {
    set_pace(world, job, rank, [&](const Work& work) {
      MutexLock lock(mutex);
      for (const std::uint32_t sample : work.samples()) ++times[sample];
      return 0.01;
    });
  }
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "shared samples");
  ASSERT_EQ(times.size(), 300u);
  int extra = 0, shared = 0;
  for (const auto& [sample, count] : times) {
    EXPECT_GE(count, 2);
    extra += count - 2;
    shared += count > 2 ? 1 : 0;
  }
  EXPECT_LE(shared, 30);
  EXPECT_NEAR(extra, 2 * 3 * 30, 20);
}

TEST(SharedSamples, WorkersMayBeLostAtAnyMessage) {
  TrainJob job = job_with_own_samples(120, 0.1);
  int k = 0;
  for (;; k += kMessageStride) {
    RoleWorld world(4);
    world.use_virtual_time();
    world.cancel_at_end();
    world.die({.rank = 2, .at_send = k});
    const RoleWorld::Outcome outcome = train(job, world);
    if (outcome.sent[2] <= k) break;
    expect_complete(outcome, job, "dead at message " + std::to_string(k));
  }
  EXPECT_GE(k, 2);
}

TEST(SharedSamples, HelpWhereWorkersHaveFewClasses) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  TrainJob job = job_with_own_samples(1000, 0);
  job.set_epochs(12);
  job.set_local_epochs(1);
  job.set_learning_rate(0.05f);
  const double without = json_number(train(job, 5).result(), "accuracy");
  job.set_epochs(8);  // as many steps: half as many shared samples as own ones
  job.set_shared_samples(0.1f);
  const double with_shared = json_number(train(job, 5).result(), "accuracy");
  EXPECT_GT(with_shared, without + 0.05) << without;
}

TEST(CheckSharedSamples, RefusesWhatMakesNoSense) {
  const auto error_of = [](const TrainJob& job) { return check_shared_samples(job).error().message; };
  EXPECT_TRUE(check_shared_samples(job_with_own_samples(32, 0)).ok());
  EXPECT_TRUE(check_shared_samples(job_with_own_samples(32, 0.5)).ok());
  for (const double share : {0.6, -1.0})
    EXPECT_NE(check_job(job_with_own_samples(32, share)).error().message.find("from 0 to 0.5"), std::string::npos);
  TrainJob job = job_with_own_samples(32, 0.1);
  job.set_split("iid");
  EXPECT_NE(error_of(job).find("split iid"), std::string::npos);
  job.set_strategy("gossip");
  EXPECT_NE(error_of(job).find("not for 'gossip'"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::train
