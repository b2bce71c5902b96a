#include "mangrove/infer/tiers/bottom_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/infer/tiers/split_job.h"

#include "mangrove/infer/tiers/measurements.h"
#include "mangrove/net/in_process.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

/// What a tier of the job gets of three images.
std::vector<float> values_of(const InferJob& job, std::size_t part) {
  net::InProcessWorld world(1);
  SteadyClock clock;
  job::Machine device;
  const job::RoleContext context{world.endpoint(0), clock, device, {}, 1, {}, [](Report) {}};
  BottomModels models = BottomModels::create(job, context).value();
  const std::string sent = models.run(part, 4, 3).value();
  std::vector<float> values(sent.size() / sizeof(float));
  EXPECT_TRUE(net::read_floats(sent, values).ok());
  return values;
}

TEST(BottomModels, AnImageHasOneNoiseForAllTiersWithTheSameSplit) {
  constexpr std::size_t kOne = 1, kOtherModel = 2;
  InferJob job = split_job("split@conv,noise=1");
  add_tier(job, "edge", "split@conv,noise=1");
  const std::vector<float> values = values_of(split_job("split@conv"), kOne), noisy = values_of(job, kOne);
  EXPECT_NE(noisy, values);
  EXPECT_EQ(noisy, values_of(job, kOtherModel)) << "nothing to average";
  for (const char* privacy : {"split@conv,noise=2", "split@relu,noise=1"}) {
    job.mutable_tiers()->RemoveLast();
    job.mutable_members()->RemoveLast();
    job.mutable_bottom_models()->RemoveLast();
    add_tier(job, "edge", privacy);
    const std::vector<float> other = values_of(job, kOtherModel);
    ASSERT_EQ(other.size(), values.size());
    std::size_t same = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float clean = std::string_view(privacy).starts_with("split@relu") ? std::max(0.0f, values[i]) : values[i];
      const float one = noisy[i] - values[i], two = other[i] - clean;
      same += (one > 0) == (two > 0) ? 1 : 0;
    }
    const double share = static_cast<double>(same) / static_cast<double>(values.size());
    EXPECT_NEAR(share, 0.5, 0.05) << privacy << ": else one could be computed from the other";
  }
}

TEST(BottomModels, AnImageHasOneTensorOfTrainedNoiseForAllTiersWithTheSame) {
  constexpr std::size_t kOne = 1, kOtherModel = 2;
  InferJob job = split_job("split@pool,trained=n");
  add_tier(job, "edge", "split@pool,trained=n");
  const std::vector<float> noisy = values_of(job, kOne);
  EXPECT_NE(noisy, values_of(split_job("split@pool"), kOne));
  EXPECT_EQ(noisy, values_of(job, kOtherModel)) << "nothing to average";
}

/// Each look at it takes a tenth of a second.
class TickingClock final : public Clock {
 public:
  Instant now() const override { return {ticks_++ * 0.1}; }
  void sleep_until(Instant) override {}

 private:
  mutable int ticks_ = 0;
};

TEST(BottomModels, TheHeadsTimeIsPredicted) {
  const InferJob job = split_job("split@conv");
  net::InProcessWorld world(1);
  TickingClock clock;
  job::Machine device;
  const job::RoleContext context{world.endpoint(0), clock, device, {}, 1, {}, [](Report) {}};
  auto models = BottomModels::create(job, context);
  ASSERT_TRUE(models.ok()) << models.error().message;
  EXPECT_FALSE(models->has(0));
  ASSERT_TRUE(models->has(1));
  EXPECT_EQ(models->bytes(1), 4 * 24 * 24 * 4);
  EXPECT_EQ(models->seconds(1), 0) << "not yet run";
  const auto values = models->run(1, 4, 3);
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ(std::ssize(*values), 3 * models->bytes(1));
  EXPECT_NEAR(models->seconds(1), 0.1, 1e-9);
  const std::vector<TierDispatch::Device> devices = {
      {1, Tier::end, 0.01, 0}, {2, Tier::cloud, 0.01, 0.5}, {3, Tier::cloud, 0.01, 0.5}, {4, Tier::cloud, 0.01, 0.5}};
  const TierCosts costs = costs_of(job, *models, 8, devices);
  EXPECT_NEAR(costs.of(Tier::end).service, 0.01, 1e-9);
  EXPECT_NEAR(costs.of(Tier::cloud).service, 0.3, 1e-9) << "three devices, and a bottom model each 0.1 s";
  EXPECT_NEAR(completion(costs.of(Tier::cloud), 9), 0.1 + 0.5 + 3 * 0.3, 1e-9)
      << "the first one starts after a bottom model";
}

}  // namespace
}  // namespace mangrove::infer
