#include "mangrove/train/job_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/train/training_job.h"

#include "mangrove/train/keys.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

struct BadJob {
  const char* key;
  std::function<void(TrainJob&)> spoil;
};

class CheckJob : public ::testing::TestWithParam<BadJob> {};

TEST_P(CheckJob, NamesTheKey) {
  TrainJob job = small_job(32);
  ASSERT_TRUE(check_job(job).ok()) << check_job(job).error().message;
  GetParam().spoil(job);
  const Status status = check_job(job);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(GetParam().key), std::string::npos) << status.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Keys, CheckJob,
    ::
        testing::
            Values(
                BadJob{"epochs", [](TrainJob& job) { job.set_epochs(0); }},
                BadJob{"epochs", [](TrainJob& job) { job.set_epochs(std::int64_t{1} << 62); }},
                BadJob{"memory", [](TrainJob& job) { job.set_memory(std::int64_t{1} << 62); }},
                BadJob{"sample_cache", [](TrainJob& job) { job.set_sample_cache(std::int64_t{1} << 62); }},
                BadJob{"checkpoint_every", [](TrainJob& job) { job.set_checkpoint_every_s(1e300); }},
                BadJob{"step_timeout", [](TrainJob& job) { job.set_step_timeout_s(1e300); }},
                BadJob{"local_epochs", [](TrainJob& job) { job.set_local_epochs(std::int64_t{1} << 62); }},
                BadJob{"batch", [](TrainJob& job) { job.set_batch(-3); }},
                BadJob{"learning_rate", [](TrainJob& job) { job.set_learning_rate(-1); }},
                BadJob{"learning_rate",
                       [](TrainJob& job) { job.set_learning_rate(std::numeric_limits<float>::quiet_NaN()); }},
                BadJob{"momentum", [](TrainJob& job) { job.set_momentum(1); }},
                BadJob{"weight_decay", [](TrainJob& job) { job.set_weight_decay(-1); }},
                BadJob{"schedule", [](TrainJob& job) { job.set_schedule("cosin"); }},
                BadJob{"did you mean 'nesterov'", [](TrainJob& job) { job.set_optimizer("nesterof"); }},
                BadJob{"did you mean 'mse'", [](TrainJob& job) { job.set_loss("mce"); }},
                BadJob{"teacher", [](TrainJob& job) { job.set_loss("distillation"); }},
                BadJob{"label_smoothing", [](TrainJob& job) { job.set_label_smoothing(1); }},
                BadJob{"ema_decay", [](TrainJob& job) { job.set_ema_decay(1); }},
                BadJob{"patience", [](TrainJob& job) { job.set_patience(-1); }},
                BadJob{"micro_batch", [](TrainJob& job) { job.set_micro_batch(job.batch() + 1); }},
                BadJob{"milestones", [](TrainJob& job) { job.set_schedule("multi_step"); }},
                BadJob{"warmup_steps", [](TrainJob& job) { job.set_warmup_steps(-1); }},
                BadJob{"checkpoint_every", [](TrainJob& job) { job.set_checkpoint_every_s(-1); }},
                BadJob{"step_timeout", [](TrainJob& job) { job.set_step_timeout_s(-1); }},
                BadJob{"neighbours", [](TrainJob& job) { job.set_neighbours("rings"); }},
                BadJob{"balance", [](TrainJob& job) { job.set_balance("fast"); }},
                BadJob{
                    "balance",
                    [](TrainJob& job) {
                      job.set_balance("speed");
                      job.set_consistency("async");
                    }},
                BadJob{"split", [](TrainJob& job) { job.set_split("by_label"); }},
                BadJob{"local_steps", [](TrainJob& job) { job.set_local_steps(-1); }},
                BadJob{"local_epochs", [](TrainJob& job) { job.set_local_epochs(-1); }},
                BadJob{"client_fraction", [](TrainJob& job) { job.set_client_fraction(1.5f); }},
                BadJob{"outer_learning_rate", [](TrainJob& job) { job.set_outer_learning_rate(-1); }},
                BadJob{"outer_momentum", [](TrainJob& job) { job.set_outer_momentum(1); }},
                BadJob{"limit", [](TrainJob& job) { job.set_limit(-1); }},
                BadJob{"seed", [](TrainJob& job) { job.set_seed(~std::uint64_t{0}); }},
                BadJob{"batch", [](TrainJob& job) { job.set_batch((1 << 20) + 1); }},
                BadJob{"epochs", [](TrainJob& job) { job.set_epochs(std::int64_t{1} << 40); }},
                BadJob{"gamma", [](TrainJob& job) { job.set_gamma(std::numeric_limits<double>::infinity()); }},
                BadJob{"exit_weights", [](TrainJob& job) { job.add_exit_weights(-1); }},
                BadJob{"codec: the text is not UTF-8", [](TrainJob& job) { job.set_codec("\xff"); }}));

TEST(TrainKeys, ALeftOutKeyHasItsDefault) {
  TrainJob job;
  EXPECT_TRUE(check_job(job).ok()) << check_job(job).error().message;
  EXPECT_EQ(job.local_steps(), 16);
  EXPECT_EQ(job.step_timeout_s(), 30);
  EXPECT_EQ(hyperparameters_of(job)->optimizer.weight_decay, 5e-4f);
}

TEST(TrainKeys, BelongToStrategiesOfTheTable) {
  TrainJob job;
  Keys keys;
  add_keys(job, keys);
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  for (const Key& key : keys.all()) {
    EXPECT_EQ(key.help.find('{'), std::string::npos) << key.name << ": " << key.help;
    for (const std::string& strategy : key.strategies)
      EXPECT_TRUE(std::ranges::find(names, strategy) != names.end()) << key.name << ": " << strategy;
  }
}

TEST(SameSettings, NamesWhatDiffers) {
  TrainJob job = small_job(32);
  const Graph graph = small_graph();
  const std::string before = settings_text(job, graph, 32);
  EXPECT_TRUE(check_same_settings(before, before).ok());
  job.set_learning_rate(0.25f);
  job.set_seed(9);
  job.set_balance("speed");
  const Status status = check_same_settings(before, settings_text(job, graph, 32));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.error().message.find("learning_rate is '0.1' in the checkpoint and '0.25' in this job"),
            std::string::npos)
      << status.error().message;
  EXPECT_NE(status.error().message.find("seed is '1'"), std::string::npos);
  EXPECT_NE(status.error().message.find("balance is 'equal' in the checkpoint and 'speed' in this job"),
            std::string::npos);
  EXPECT_EQ(status.error().message.find("batch"), std::string::npos);
}

TEST(SameSettings, DoNotIncludeKeysThatTheStrategyDoesNotRead) {
  TrainJob job = small_job(32), other = job;
  other.set_topology("tree");  // of all_reduce
  other.set_backend("onednn");
  EXPECT_EQ(settings_text(job, small_graph(), 32), settings_text(other, small_graph(), 32));
  job.set_strategy("all_reduce");
  other.set_strategy("all_reduce");
  const Status status =
      check_same_settings(settings_text(job, small_graph(), 32), settings_text(other, small_graph(), 32));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("topology is 'ring' in the checkpoint and 'tree' in this job"),
            std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace mangrove::train
