#include "mangrove/train/data_parallel/privacy_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/train/training_job.h"

#include "mangrove/train/job_settings.h"
#include "mangrove/train/keys.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

struct RefusedPrivacy {
  std::function<void(TrainJob&)> choose;
  const char* why;
};

TEST(PrivacyKey, IsRefusedWhereNothingWouldBePromised) {
  const auto federated = [](TrainJob& job) {
    job.set_strategy("federated");
    job.set_split("by_label(2)");
  };
  const std::vector<RefusedPrivacy> all = {
      {[](TrainJob& job) { job.set_strategy("all_reduce"); },
       "privacy: needs a server that adds noise to the workers' sum, and strategy 'all_reduce' has none; use one of "
       "parameter_server, federated"},
      {[](TrainJob& job) { job.set_strategy("gossip"); }, "strategy 'gossip' has none"},
      {[](TrainJob& job) { job.set_strategy("gpipe"); }, "strategy 'gpipe' has none"},
      {[](TrainJob& job) { job.set_consistency("async"); }, "with consistency 'async' the fastest make it; use sync"},
      {[](TrainJob& job) { job.set_consistency("k_of_n(2)"); }, "with consistency 'k_of_n(2)'"},
      {[](TrainJob& job) { job.set_aggregate("median"); }, "aggregate 'median' makes none; use mean"},
      {[](TrainJob& job) { job.set_codec("int8"); }, "codec 'int8' changes them; use codec none"},
      {[](TrainJob& job) { job.set_codec("auto"); }, "codec 'auto' changes them"},
      {[](TrainJob& job) { job.set_split("shards"); }, "use split iid and shuffle all"},
      {[](TrainJob& job) { job.set_shuffle("window(8)"); }, "use split iid and shuffle all"},
      {[](TrainJob& job) { job.set_micro_batch(2); }, "use micro_batch 0 or 1, not 2"},
      {[](TrainJob& job) { job.set_augment("mixup:0.2"); }, "and with augment 'mixup:0.2' all do"},
      {[](TrainJob& job) { job.set_augment("cifar"); },
       "and with augment 'cifar' all do (mixup, zca, and normalise without numbers)"},
      {[](TrainJob& job) { job.set_strategy("federated"); }, "with split iid nobody has samples of its own"},
      {[&](TrainJob& job) {
         federated(job);
         job.set_shared_samples(0.1f);
       },
       "use shared_samples 0"},
      {[&](TrainJob& job) {
         federated(job);
         job.set_consistency("k_of_n(2)");
       },
       "with consistency 'k_of_n(2)' the fastest make it"},
      {[&](TrainJob& job) {
         federated(job);
         job.set_augment("mixup:0.2");  // with samples of other workers
       },
       "and with augment 'mixup:0.2' all do"},
      {[&](TrainJob& job) {
         federated(job);
         job.set_augment("flip,normalise");
       },
       "and with augment 'flip,normalise' all do"},
  };
  for (const RefusedPrivacy& refused : all) {
    TrainJob job = small_job(100);
    job.set_privacy("epsilon=2,delta=1e-5");
    refused.choose(job);
    const Status status = check_job(job);
    ASSERT_FALSE(status.ok()) << refused.why;
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.error().message.find(refused.why), std::string::npos) << status.error().message;
  }
  TrainJob job = small_job(100);
  job.set_privacy("epsilon=2,delta=1e-5");
  job.set_micro_batch(1);
  job.set_downlink_codec("fp16");
  job.set_augment("pad-crop:2,flip,normalise:0.5:0.2");
  EXPECT_TRUE(check_job(job).ok()) << check_job(job).error().message;
  federated(job);
  job.set_codec("int8");  // a change is cut down as it arrives
  EXPECT_TRUE(check_job(job).ok()) << check_job(job).error().message;
}

TEST(PrivacyKey, ReadsItsNumbersInAnyOrder) {
  EXPECT_EQ(parse_privacy("").value(), std::nullopt);
  EXPECT_EQ(parse_privacy("none").value(), std::nullopt);
  const PrivacyOptions options = *parse_privacy("delta=1e-6,noise=1.5,epsilon=2,clip=0.5").value();
  EXPECT_EQ(options.budget.epsilon, 2);
  EXPECT_EQ(options.budget.delta, 1e-6);
  EXPECT_EQ(options.clip, 0.5);
  EXPECT_EQ(options.noise, 1.5);
  EXPECT_EQ(parse_privacy("epsilon=2,delta=1e-6").value()->noise, 0);
  EXPECT_EQ(parse_privacy("epsilon=2,delta=1e-6").value()->clip, 1);
  for (const char* text :
       {"epsilon=2", "delta=1e-5", "epsilon=0,delta=1e-5", "epsilon=2,delta=1", "epsilon=2,delta=1e-5,",
        "epsilon=2;delta=1e-5", "epsilon=-1,delta=1e-5", "epsilon=nan,delta=1e-5", "dp_sgd(2)", "epsilon=2x,delta=1e-5",
        "epsilon=2,delta=1e-5,clip=0", "epsilon=2,delta=1e-5,sigma=1"}) {
    const auto parsed = parse_privacy(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.code(), Code::invalid_argument);
    EXPECT_TRUE(parsed.error().message.starts_with("privacy: ")) << parsed.error().message;
  }
  EXPECT_EQ(parse_privacy("delta=2,epsilon=1").error().message,
            "privacy: delta must be a number from 1e-15 to 0.1, got '2'");
}

TEST(PrivacyKey, IsOfTheStrategiesWithAServer) {
  TrainJob job;
  Keys keys;
  add_keys(job, keys);
  for (const Strategy& row : strategies())
    EXPECT_EQ(std::ranges::count(keys.at("privacy").strategies, row.name) > 0, row.has_server) << row.name;
}

}  // namespace
}  // namespace mangrove::train
