// Training where the leader sees sums only.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/base/sanitizer.h"
#include "tests/train/data_parallel/changing_endpoint.h"
#include "tests/train/training_job.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/secure_aggregation/messages.pb.h"
#include "mangrove/train/data_parallel/secure_update.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

using Fate = net::InProcessWorld::Fate;

constexpr int kSecureSumWorkers = 4;
constexpr std::int64_t kSecureSumSamples = std::int64_t{4} * 16 * 3;  // of an epoch: three rounds
constexpr int kRepliesOfASum = 4;                                     // keys, shares, masked vector, secrets

TrainJob federated_job() {
  TrainJob job = small_job(kSecureSumSamples);
  job.set_strategy("federated");
  job.set_local_steps(2);
  job.set_step_timeout_s(20);
  return job;
}

TrainJob secure(TrainJob job) {
  job.set_secure_aggregation(true);
  return job;
}

RoleWorld::Outcome train_in_virtual_time(const TrainJob& job, std::optional<Death> death = std::nullopt) {
  RoleWorld world(kSecureSumWorkers + 1);
  world.use_virtual_time();
  if (death) world.die(*death);
  return train(job, world);
}

/// But for the rounding of fixed point, in a few rounds.
void expect_same(const RoleWorld::Outcome& one, const RoleWorld::Outcome& other, const std::string& where) {
  ASSERT_TRUE(one.leader.ok()) << where << ": " << one.leader.error().message;
  ASSERT_TRUE(other.leader.ok()) << where << ": " << other.leader.error().message;
  EXPECT_LT(relative_difference(trained_parameters(one), trained_parameters(other)), 1e-6) << where;
  for (const char* key : {"samples", "steps", "train_accuracy"})
    EXPECT_NEAR(json_number(one.result(), key), json_number(other.result(), key), 1e-9) << where << ": " << key;
  EXPECT_NEAR(json_number(one.result(), "loss"), json_number(other.result(), "loss"), 1e-5) << where;
}

struct Form {
  std::string name;
  std::function<void(TrainJob& job)> choose;
};

/// All have samples in each round, or what is left for one of them would make no update.
void let_shares_differ(TrainJob& job) {
  job.set_split("by_size(3,2,2,1)");
  job.set_local_epochs(1);
}

class SecureTraining : public ::testing::TestWithParam<Form> {};

TEST_P(SecureTraining, IsPlainTrainingButForTheRounding) {
  TrainJob job = federated_job();
  job.set_epochs(2);
  GetParam().choose(job);
  expect_same(train_in_virtual_time(secure(job)), train_in_virtual_time(job), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SecureTraining,
    ::testing::Values(Form{"sync", [](TrainJob&) {}},
                      Form{"local_epochs", [](TrainJob& job) { job.set_local_epochs(1); }},
                      Form{"states", [](TrainJob& job) { job.set_model(encode_onnx(normalized_graph())); }},
                      Form{"some_clients", [](TrainJob& job) { job.set_client_fraction(0.75f); }},
                      Form{"unlike_shares", &let_shares_differ},
                      Form{"shared_samples",
                           [](TrainJob& job) {
                             let_shares_differ(job);
                             job.set_shared_samples(0.1f);
                           }},
                      Form{"outer_momentum", [](TrainJob& job) { job.set_outer_momentum(0.5f); }},
                      Form{"downlink_codec", [](TrainJob& job) { job.set_downlink_codec("fp16"); }}),
    [](const auto& one) { return one.param.name; });

// Its answer comes in plain training, or does not; with secure sums the same is so of its masked vector.
TEST(SecureTrainingWithDropOuts, IsPlainTrainingWithTheSameDropOuts) {
  const TrainJob job = federated_job();
  for (int round = 0; round < 3; ++round) {
    const int hello = 1, plain = hello + round, blind = hello + round * (1 + kRepliesOfASum);
    const auto dead = [&](int send, bool after) { return Death{.rank = 2, .at_send = send, .after = after}; };
    const RoleWorld::Outcome without = train_in_virtual_time(job, dead(plain, false));
    for (int step = 0; step < kRepliesOfASum; ++step) {  // up to the masked vector
      expect_same(train_in_virtual_time(secure(job), dead(blind + step, false)), without,
                  "round " + std::to_string(round) + " step " + std::to_string(step));
    }
  }
}

// Its samples are not dealt out again.
TEST(SecureTrainingWithDropOuts, CountsTheVectorOfAWorkerThatIsLostAfterIt) {
  const TrainJob job = secure(federated_job());
  for (int round = 0; round < 3; ++round) {
    const int reply = 1 + round * (1 + kRepliesOfASum) + kRepliesOfASum;
    const RoleWorld::Outcome outcome = train_in_virtual_time(job, Death{.rank = 2, .at_send = reply});
    expect_complete(outcome, job, "round " + std::to_string(round));
    EXPECT_FALSE(outcome.has_event("work_reassigned")) << round;
    EXPECT_FALSE(outcome.has_event("secure_sum_failed")) << round;
  }
}

struct Disturbance {
  std::string name;
  Fate fate;
  std::string codec = "none";
};

/// Runs the job once for each message that it sends, and disturbs that one.
class DisturbedSecureTraining : public ::testing::TestWithParam<Disturbance> {};

TEST_P(DisturbedSecureTraining, CountsEachSampleOnce) {
  TrainJob job = secure(federated_job());
  job.set_codec(GetParam().codec);
  job.set_limit(64);
  job.set_epochs(2);
  int k = 0;
  for (;; k += kMessageStride) {
    RoleWorld world(kSecureSumWorkers + 1);
    world.use_virtual_time();
    world.cancel_at_end();
    int sent = 0;
    world.world().set_fate(
        [&](net::Rank, net::Rank, net::Tag) { return sent++ == k ? GetParam().fate : Fate::arrives; });
    const RoleWorld::Outcome outcome = train(job, world);
    if (sent <= k) break;
    expect_complete(outcome, job, "message " + std::to_string(k));
    EXPECT_FALSE(outcome.has_event(R"("event":"worker_left_out")")) << k;  // nobody has lied
  }
  EXPECT_GE(k, 60);
}

INSTANTIATE_TEST_SUITE_P(
    Fates, DisturbedSecureTraining,
    ::testing::Values(Disturbance{"is_lost", Fate::is_lost}, Disturbance{"arrives_twice", Fate::arrives_twice},
                      Disturbance{"is_overtaken", Fate::is_overtaken},
                      Disturbance{"is_lost_with_a_mask", Fate::is_lost, "structured_mask(0.25)"},
                      Disturbance{"is_overtaken_with_a_mask", Fate::is_overtaken, "structured_mask(0.25)"}),
    [](const auto& one) { return one.param.name; });

TEST(SecureTrainingWithDropOuts, OfTooManyAtOnceTrainsOnTheirSamplesAgain) {
  TrainJob job = secure(federated_job());
  RoleWorld world(6);
  world.use_virtual_time();
  for (const net::Rank rank : {2, 3}) world.die({.rank = rank, .at_send = 4});  // before its masked vector
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "two of five");
  EXPECT_TRUE(outcome.has_event(R"("event":"secure_sum_failed","step":0,"reason":"too many drop-outs)"));
}

TEST(SecureTrainingWithDropOuts, OfAllButTwoIsAClearErrorAndACheckpoint) {
  TrainJob job = secure(federated_job());
  RoleWorld world(kSecureSumWorkers + 1);
  world.use_virtual_time();
  for (const net::Rank rank : {2, 3}) world.die({.rank = rank, .at_send = 3});
  const RoleWorld::Outcome outcome = train(job, world);
  EXPECT_EQ(outcome.leader.code(), Code::failed_precondition);
  EXPECT_EQ(outcome.leader.error().message,
            "secure_aggregation: a sum needs the updates of 3 workers at once, and only 2 workers are left; a "
            "checkpoint was saved: resume it with more nodes");
  ASSERT_EQ(outcome.reports.back().kind, ReportKind::checkpoint);
  job.set_resume_from(outcome.reports.back().attachment);
  expect_complete(train(job, 4), job, "resumed");
}

TEST(SecureTrainingWithDropOuts, OfAWorkerThatTrainsAndSumsNothingIsAClearErrorAndACheckpoint) {
  TrainJob job = secure(federated_job());
  RoleWorld world(4);
  world.use_virtual_time();
  change_answers(world, job, 2, [](Answer& answer, std::string&) {
    if (answer.count() == 0) answer.set_round(0);  // the leader waits for another one
  });
  const RoleWorld::Outcome outcome = train(job, world);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.error().message,
            "secure_aggregation: 5 sums in a row came to nothing; a checkpoint was saved: resume it with more nodes");
  ASSERT_EQ(outcome.reports.back().kind, ReportKind::checkpoint);
  job.set_resume_from(outcome.reports.back().attachment);
  expect_complete(train(job, 4), job, "resumed");
}

TEST(SecureTraining, NeedsThreeWorkers) {
  EXPECT_EQ(train(secure(federated_job()), 2).leader.error().message,
            "secure_aggregation: a sum needs the updates of 3 workers at once, but an update has those of 2");
  TrainJob job = secure(federated_job());
  job.set_consistency("k_of_n(2)");
  EXPECT_EQ(train(job, 4).leader.code(), Code::invalid_argument);
}

TEST(SecureTraining, OfTheFirstAnswersSumsThoseOfAsManyWorkers) {
  TrainJob job = secure(federated_job());
  job.set_consistency("k_of_n(3)");
  job.set_epochs(2);
  RoleWorld world(6);
  world.use_virtual_time();
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "k_of_n");
  EXPECT_GE(json_number(outcome.result(), "steps"), 4);
}

TEST(SecureTraining, SamplesThatTooFewWorkersHaveMakeNoUpdate) {
  TrainJob job = secure(federated_job());
  job.set_split("by_size(20,1,1)");
  const RoleWorld::Outcome outcome = train(job, 3);
  expect_complete(outcome, job, "by_size");
  EXPECT_TRUE(outcome.has_event(R"("event":"samples_unlearnt")"));
}

TEST(SecureTraining, ThatDivergesSaysSo) {
  TrainJob job = secure(federated_job());
  const Graph graph = small_graph();
  const std::vector<float> huge(learn::flat_parameters(graph).size(), 3e38f);  // their sums are infinite
  job.set_model(encode_onnx(learn::with_flat_parameters(graph, huge).value()));
  const Status status = train_in_virtual_time(job).leader;
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::out_of_range) << status.error().message;
}

TEST(SecureTraining, WithASharedMaskSendsAFractionAndLearns) {
  TrainJob job = secure(federated_job());
  job.set_epochs(20);
  job.set_learning_rate(0.03f);
  job.set_codec("structured_mask(0.25)");
  RoleWorld world(kSecureSumWorkers + 1);
  world.use_virtual_time();
  std::vector<std::size_t> words;  // of each vector
  change_answers(world, job, 2, [&](Answer& answer, std::string& body) {
    secure::Reply reply;
    if (answer.count() == 0 && reply.ParseFromString(body) && reply.has_masked())
      words.push_back(reply.masked().words().size() / sizeof(std::uint32_t));
  });
  const RoleWorld::Outcome masked = train(job, world);
  expect_complete(masked, job, "masked");
  const std::size_t parameters = learn::flat_parameters(small_graph()).size();
  ASSERT_EQ(parameters % 4, 2u);
  const std::size_t some = (parameters + 2) / 4;             // rounded
  EXPECT_EQ(words, std::vector<std::size_t>(60, some + 4));  // the loss and the correct samples too
  const double accuracy = json_number(masked.result(), "train_accuracy");
  EXPECT_GT(accuracy, 0.95);
  job.set_secure_aggregation(false);  // the same codec, with a mask of its own for each worker
  const double alone = json_number(train_in_virtual_time(job).result(), "train_accuracy");
  EXPECT_NEAR(accuracy, alone, 0.03);
}

TEST(SecureTraining, ReportsWhatItSendsBesidePlainFloats) {
  TrainJob job = secure(federated_job());
  const auto uplink = [&] { return nlohmann::json::parse(train_in_virtual_time(job).result())["exchange"]["uplink"]; };
  const auto parameters = static_cast<double>(learn::flat_parameters(small_graph()).size());
  const double plain = parameters * sizeof(float) * kSecureSumWorkers * 3;  // three updates of each worker
  const auto all = uplink();
  EXPECT_EQ(all["float_bytes"], plain);
  EXPECT_GT(all["compression"], 0.9);  // keys and shares are beside the words
  EXPECT_LT(all["compression"], 1);
  job.set_codec("structured_mask(0.25)");
  const auto some = uplink();
  EXPECT_EQ(some["float_bytes"], plain);
  EXPECT_GT(some["compression"], 3.6);
  EXPECT_LT(some["compression"], 4);
}

TEST(SecureTraining, WithAMaskOfAllIsPlainTraining) {
  TrainJob job = federated_job();
  job.set_epochs(2);
  const RoleWorld::Outcome plain = train_in_virtual_time(job);
  job.set_codec("structured_mask(1)");
  expect_same(train_in_virtual_time(secure(job)), plain, "a mask of all");
}

TEST(SecureTrainingWithDropOuts, OfTooManyAtOnceLosesNoSamplesWithAMask) {
  TrainJob job = secure(federated_job());
  job.set_codec("structured_mask(0.25)");
  RoleWorld world(6);
  world.use_virtual_time();
  for (const net::Rank rank : {2, 3}) world.die({.rank = rank, .at_send = 4});  // before its masked vector
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "two of five");
  EXPECT_TRUE(outcome.has_event("secure_sum_failed"));
}

TEST(SecureTraining, ShowsTheLeaderNoUpdate) {
  const TrainJob job = secure(federated_job());
  RoleWorld world(kSecureSumWorkers + 1);
  world.use_virtual_time();
  std::size_t trainings = 0;
  std::vector<std::string> vectors;
  change_answers(world, job, 2, [&](Answer& answer, std::string& body) {
    secure::Reply reply;
    if (answer.predictions_size() > 0) return;
    if (answer.count() > 0) {
      ++trainings;
      EXPECT_TRUE(body.empty());
      EXPECT_EQ(answer.loss(), 0);
      EXPECT_EQ(answer.correct(), 0);
    } else if (reply.ParseFromString(body) && reply.has_masked()) {
      vectors.push_back(reply.masked().words());
    }
  });
  expect_complete(train(job, world), job, "watched");
  EXPECT_EQ(trainings, 3u);
  ASSERT_EQ(vectors.size(), 3u);
  for (const std::string& words : vectors) {  // the high bytes of plain words would be 0 and 255 only
    std::array<int, 256> counts{};
    for (std::size_t i = 3; i < words.size(); i += 4) ++counts[static_cast<unsigned char>(words[i])];
    EXPECT_LT(*std::ranges::max_element(counts), static_cast<int>(words.size() / 4 / 10));
  }
}

/// A worker that forges its replies of the first sum.
void let_lie(RoleWorld& world, const TrainJob& job, const std::function<void(secure::Reply&)>& lie) {
  change_answers(world, job, 2, [lie](Answer& answer, std::string& body) {
    secure::Reply reply;
    if (body.empty() || answer.count() > 0 || !reply.ParseFromString(body)) return;
    lie(reply);
    body = reply.SerializeAsString();
  });
}

void flip(std::string& bytes) {
  bytes[5] = static_cast<char>(bytes[5] ^ 1);
}

TEST(WorkerThatLies, AboutASecretOfOthersIsNamedAndTheSumGoesOn) {
  const TrainJob job = secure(federated_job());
  RoleWorld world(kSecureSumWorkers + 2);
  world.use_virtual_time();
  let_lie(world, job, [](secure::Reply& reply) {
    if (reply.has_revealed()) flip(*reply.mutable_revealed()->mutable_shares(0)->mutable_share());
  });
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "holder");
  EXPECT_TRUE(outcome.has_event(R"("event":"worker_left_out")"));
  EXPECT_TRUE(outcome.has_event("it sent a wrong reply: a share that is not the one it was dealt"));
  EXPECT_FALSE(outcome.has_event("secure_sum_failed"));
}

TEST(WorkerThatLies, AboutItsOwnSecretIsNamedAndTheOthersGoOn) {
  const TrainJob job = secure(federated_job());
  RoleWorld world(kSecureSumWorkers + 2);
  world.use_virtual_time();
  let_lie(world, job, [](secure::Reply& reply) {
    if (reply.has_dealt()) flip(*reply.mutable_dealt()->mutable_envelopes(0)->mutable_seed_share_digest());
  });
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "dealer");
  EXPECT_TRUE(outcome.has_event("it dealt out wrong shares"));
  EXPECT_TRUE(outcome.has_event(R"("event":"secure_sum_failed","step":0)"));
}

struct RefusedSecureJob {
  std::function<void(TrainJob&)> choose;
  const char* why;
};

TEST(SecureTraining, IsRefusedWhereSumsAreNotEnough) {
  const std::vector<RefusedSecureJob> all = {
      {[](TrainJob& job) { job.set_strategy("parameter_server"); },
       "secure_aggregation: the leader sees sums only, of what workers change in steps of their own; strategy "
       "'parameter_server' has no such sums; use federated"},
      {[](TrainJob& job) { job.set_strategy("gossip"); }, "strategy 'gossip' has no such sums"},
      {[](TrainJob& job) { job.set_consistency("async"); },
       "secure_aggregation: the leader sees sums only, and with consistency 'async' it makes an update of each answer "
       "alone; use sync or k_of_n(K)"},
      {[](TrainJob& job) { job.set_consistency("stale(2)"); }, "with consistency 'stale(2)'"},
      {[](TrainJob& job) { job.set_aggregate("median"); }, "and the rule 'median' compares single updates"},
      {[](TrainJob& job) {
         job.set_split("by_size(2,1,1)");
         job.set_privacy("epsilon=2,delta=1e-5");
       },
       "and with privacy it cuts each single update down to the norm clip"},
      {[](TrainJob& job) { job.set_codec("top_k(0.01)"); },
       "and with codec 'top_k' each worker sends other elements, which do not add up; use codec none or "
       "structured_mask"},
      {[](TrainJob& job) {
         job.set_codec("structured_mask(0.1)");
         job.set_codec_warmup(2);
       },
       "and with codec_warmup the number of elements goes by each worker's own messages; use no codec_warmup, or no "
       "secure_aggregation"},
      {[](TrainJob& job) { job.set_codec("int8"); },
       "and messages of codec 'int8' do not add up before they are decoded; use codec none or structured_mask"},
      {[](TrainJob& job) { job.set_codec("auto"); },
       "so workers cannot each choose a codec of their own; use codec none or structured_mask"}};
  for (const RefusedSecureJob& refused : all) {
    TrainJob job = secure(federated_job());
    refused.choose(job);
    const Status status = check_job(job);
    ASSERT_FALSE(status.ok()) << refused.why;
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.error().message.find(refused.why), std::string::npos) << status.error().message;
  }
  EXPECT_TRUE(check_job(secure(federated_job())).ok());
}

}  // namespace
}  // namespace mangrove::train
