#include "mangrove/job/keys.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/job/sample_job.pb.h"

namespace mangrove::job {
namespace {

class JobKeys : public ::testing::Test {
 protected:
  JobKeys() { add_keys(job, {{"strategies", {"slow", "fast"}}}, keys); }

  std::string message_of(const std::string& key, const std::string& value) const {
    const Status status = keys.set(key, value);
    return status.ok() ? "" : status.error().message;
  }

  SampleJob job;
  Keys keys;
};

TEST_F(JobKeys, AreTheFieldsThatAreDescribed) {
  EXPECT_EQ(keys.names(), (std::vector<std::string>{"strategy", "dampening", "count", "seed", "wait", "space", "fresh",
                                                    "epochs", "weights", "names"}));
  const Key& key = *keys.find("dampening");
  EXPECT_EQ(key.description(), "how much each step is damped (0.1 to 1; default 0.25)");
  EXPECT_EQ(key.group, "Learning");
  EXPECT_EQ(key.strategies, std::vector<std::string>{"slow"});
  EXPECT_EQ(key.page, "training.md");
  EXPECT_EQ(keys.find("strategy")->help, "slow and fast");
  EXPECT_EQ(keys.find("strategy")->choices, (std::vector<std::string>{"slow", "fast"}));
  EXPECT_TRUE(keys.find("fresh")->is_switch());
}

TEST_F(JobKeys, ReadAndWriteTheFields) {
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{{"strategy", "fast"},
                                                                                             {"dampening", "0.3"},
                                                                                             {"count", "7"},
                                                                                             {"seed", "9"},
                                                                                             {"wait", "2.5s"},
                                                                                             {"space", "3MB"},
                                                                                             {"fresh", "true"},
                                                                                             {"epochs", "82,123"},
                                                                                             {"weights", "0.3,1"},
                                                                                             {"names", "pool1,fc1"}}) {
    EXPECT_EQ(message_of(key, value), "");
    EXPECT_EQ(keys.find(key)->get(), value);
  }
  EXPECT_EQ(job.strategy(), "fast");
  EXPECT_EQ(job.dampening(), 0.3f);
  EXPECT_EQ(job.count(), 7);
  EXPECT_EQ(job.seed(), 9u);
  EXPECT_EQ(job.wait_s(), 2.5);
  EXPECT_EQ(job.space(), 3'000'000);
  EXPECT_TRUE(job.fresh());
  EXPECT_EQ(job.epochs(1), 123);
  EXPECT_EQ(job.weights(0), 0.3f);
  EXPECT_EQ(job.names(0), "pool1");
}

TEST_F(JobKeys, AListIsSetAnewAndMayBeEmpty) {
  EXPECT_EQ(message_of("epochs", "82, 123"), "") << "blanks are skipped";
  EXPECT_EQ(message_of("epochs", "7"), "");
  EXPECT_EQ(job.epochs_size(), 1);
  EXPECT_EQ(message_of("epochs", ""), "");
  EXPECT_EQ(job.epochs_size(), 0);
  for (const char* bad : {",", "1,", ",1", "1;2", "x", "1.5", "99999999999999999999", "0"})
    EXPECT_NE(message_of("epochs", bad), "") << bad;
}

TEST_F(JobKeys, AValueThatDoesNotFitChangesNothing) {
  EXPECT_EQ(message_of("dampening", "2"), "key 'dampening': '2' is not a number from 0.1 to 1");
  EXPECT_EQ(message_of("count", "1e9"), "key 'count': '1e9' is not a whole number from 1 to 100");
  EXPECT_EQ(message_of("wait", "90s"), "key 'wait': '90s' is not from 1s to 60s");
  EXPECT_EQ(message_of("seed", "-1"), "key 'seed': '-1' is not a whole number of 0 or more");
  EXPECT_EQ(job.SerializeAsString(), SampleJob().SerializeAsString());
}

TEST(RangeOf, IsWhatTheKeyTakes) {
  const auto range = [](const char* name) { return range_of(*SampleJob::descriptor(), name); };
  EXPECT_EQ(range("count").low, 1);
  EXPECT_EQ(range("count").high, 100);
  EXPECT_EQ(range("epochs").low, 1) << "of each element";
  EXPECT_EQ(range("epochs").high, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(range("seed").low, 0);
  EXPECT_EQ(range("space").high, std::numeric_limits<std::int64_t>::max());
  EXPECT_DEATH(range("cuont"), "no key of mangrove.job.SampleJob: cuont");
}

struct Hostile {
  const char* key;
  std::function<void(SampleJob&)> spoil;
};

class HostileJob : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileJob, IsRefusedByName) {
  SampleJob job;
  ASSERT_TRUE(check_keys(job).ok()) << check_keys(job).error().message;
  GetParam().spoil(job);
  const Status status = check_keys(job);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_TRUE(status.error().message.starts_with(GetParam().key)) << status.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Keys, HostileJob,
    ::testing::Values(
        Hostile{"dampening: '0' is not a number from 0.1 to 1", [](SampleJob& job) { job.set_dampening(0); }},
        Hostile{"dampening", [](SampleJob& job) { job.set_dampening(std::numeric_limits<float>::quiet_NaN()); }},
        Hostile{"dampening", [](SampleJob& job) { job.set_dampening(std::numeric_limits<float>::infinity()); }},
        Hostile{"count", [](SampleJob& job) { job.set_count(-1); }},
        Hostile{"count", [](SampleJob& job) { job.set_count(std::numeric_limits<std::int32_t>::max()); }},
        Hostile{"seed", [](SampleJob& job) { job.set_seed(std::uint64_t{1} << 63); }},
        Hostile{"wait", [](SampleJob& job) { job.set_wait_s(std::numeric_limits<double>::quiet_NaN()); }},
        Hostile{"wait", [](SampleJob& job) { job.set_wait_s(-5); }},
        Hostile{"wait", [](SampleJob& job) { job.set_wait_s(1e300); }},
        Hostile{"space", [](SampleJob& job) { job.set_space(-1); }},
        Hostile{"epochs",
                [](SampleJob& job) {
                  job.add_epochs(1);
                  job.add_epochs(-1);
                }},
        Hostile{"weights", [](SampleJob& job) { job.add_weights(1.5f); }},
        Hostile{"strategy: the text is not UTF-8", [](SampleJob& job) { job.set_strategy("\xc0\x80"); }},
        Hostile{"names", [](SampleJob& job) { job.add_names("\xed\xa0\x80"); }}),
    [](const auto& param) { return "Value" + std::to_string(param.index); });

TEST(Fingerprint, HasWhatMustBeTheSameForThisStrategy) {
  SampleJob job;
  job.add_epochs(4);
  job.set_count(9);
  EXPECT_EQ(fingerprint(job, {"slow"}), "strategy=slow\ndampening=0.25\nepochs=4\n");
  EXPECT_EQ(fingerprint(job, {"fast"}), "strategy=slow\nepochs=4\n");
  EXPECT_EQ(fingerprint(job, {"fast", "slow"}), fingerprint(job, {"slow"}));
}

}  // namespace
}  // namespace mangrove::job
