#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <utility>

#include "tests/base/sanitizer.h"
#include "tests/base/temporary_folder.h"
#include "tests/train/training_job.h"

#include "mangrove/data/glyphs.h"
#include "mangrove/data/shards.h"
#include "mangrove/data/subset.h"
#include "mangrove/job/machine.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/shards/endpoint.h"
#include "mangrove/train/shards/leader.h"
#include "mangrove/train/strategy.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

using Fate = net::InProcessWorld::Fate;

/// Who sent what to whom, in the order in which it left.
struct Sent {
  net::Rank from, to;
  net::Tag tag;
};

/// A coordinator that has glyphs in shards, and workers that have nothing, each with a data folder of its own.
struct ShardTransfer : ::testing::Test {
  static constexpr const char* kName = "glyphs-in-shards";

  void pack(std::int64_t samples, Bytes shard_bytes) {
    for (const data::Split split : {data::Split::train, data::Split::test}) {
      const auto glyphs = data::first_samples(data::make_glyphs(split), samples);
      const auto packed =
          data::write_shards(*glyphs, split, of_rank(0) / kName, {.shard_bytes = shard_bytes}, [](auto) {}, {});
      EXPECT_TRUE(packed.ok());
      shards += packed->shards;
      if (split == data::Split::train) train_shards = packed->shards;
    }
  }
  fs::path of_rank(net::Rank rank) const { return folder / std::to_string(rank); }
  /// The worker has the whole data set too.
  void copy_to(net::Rank rank) const {
    fs::create_directories(of_rank(rank));
    fs::copy(of_rank(0) / kName, of_rank(rank) / kName);
  }
  void forget(net::Rank rank) const { fs::remove_all(of_rank(rank)); }
  static TrainJob of_shards(TrainJob job, const std::string& from) {
    job.set_data(std::string("shards:") + kName);
    job.set_data_from(from);
    return job;
  }
  TrainJob small(std::int64_t samples) const {
    TrainJob job = of_shards(small_job(samples), "cluster");
    job.set_step_timeout_s(20);
    return job;
  }

  /// Records what is sent; fate, under a lock, of each message.
  RoleWorld::Outcome run(const TrainJob& job, RoleWorld& world, std::function<Fate(const Sent&)> fate = {}) {
    sent.clear();
    world.use_virtual_time(0.001);
    world.cancel_at_end();
    world.world().set_fate([this, fate](net::Rank from, net::Rank to, net::Tag tag) {
      sent.push_back({from, to, tag});
      return fate ? fate(sent.back()) : Fate::arrives;
    });
    return world.run([&](job::RoleContext& context) {
      job::RoleContext own = context;
      own.data_folder = job.data_from() == "cluster" ? of_rank(context.endpoint.rank()) : of_rank(0);
      return run_training(job, own);
    });
  }
  RoleWorld::Outcome run(const TrainJob& job, int workers) {
    RoleWorld world(workers + 1);
    return run(job, world);
  }
  /// Lists and parts of shards.
  std::int64_t bytes_messages(std::function<bool(const Sent&)> which) const {
    return std::count_if(sent.begin(), sent.end(),
                         [&](const Sent& message) { return message.tag == kShardBytesTag && which(message); });
  }
  std::vector<std::string> refusals(const RoleWorld::Outcome& outcome) const {
    std::vector<std::string> found;
    for (const Report& report : outcome.of_kind("event"))
      if (report.json.find("shard_refused") != std::string::npos) found.push_back(report.json);
    return found;
  }

  const mangrove::testing::TemporaryFolder folder;
  std::uint32_t shards = 0, train_shards = 0;
  std::vector<Sent> sent;
};

struct EveryStrategyFromTheCluster : ShardTransfer, ::testing::WithParamInterface<StrategyCase> {};

/// In step; else what comes of it depends on who is first.
bool is_deterministic(const std::string& strategy) {
  for (const char* other : {"async", "stale", "k_of_n", "balanced", "buffered"})
    if (strategy == other) return false;
  return true;
}

TEST_P(EveryStrategyFromTheCluster, WorkersWithoutDataTrainTheSameNetworkBitForBit) {
  pack(100, 10'000);
  const TrainJob job = job_of(GetParam(), 100);
  const auto expected = run(of_shards(job, "own"), 3);
  EXPECT_EQ(bytes_messages([](const Sent&) { return true; }), 0);
  const auto outcome = run(of_shards(job, "cluster"), 3);
  expect_complete(outcome, job, GetParam().name);
  EXPECT_GE(bytes_messages([](const Sent&) { return true; }), train_shards);
  if (is_deterministic(GetParam().name)) {
    EXPECT_EQ(trained_parameters(outcome), trained_parameters(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, EveryStrategyFromTheCluster, ::testing::ValuesIn(every_strategy()), name_of);

TEST_F(ShardTransfer, AWorkerStartsWithItsFirstShardAndGetsOnlyItsOwn) {
  pack(200, 10'000);
  ASSERT_GE(train_shards, 16u);
  TrainJob job = small(200);
  job.set_split("shards");
  job.set_shuffle("window(12)");
  TrainJob own = of_shards(job, "own");
  const auto expected = run(own, 2);
  const auto outcome = run(job, 2);
  expect_complete(outcome, job, "by shards");
  EXPECT_EQ(trained_parameters(outcome), trained_parameters(expected));
  for (const net::Rank rank : {1, 2}) {
    std::int64_t before = -1, after = 0;  // parts that it got, the list included
    for (const Sent& message : sent) {
      if (message.from == rank && message.tag == kAnswerTag && before < 0) before = after;
      if (message.to == rank && message.tag == kShardBytesTag) ++after;
    }
    EXPECT_LE(before, 1 + 6) << "its first answer came when it had few of its shards";
    EXPECT_GE(after, 1 + train_shards / 2);
    std::uint32_t kept = 0;
    for (const auto& file : fs::recursive_directory_iterator(of_rank(rank)))
      if (file.path().filename().string().starts_with("train-")) ++kept;
    EXPECT_LE(kept, train_shards / 2 + 1) << "those of the other are none of its business";
  }
  EXPECT_TRUE(outcome.has_event("data_is_there"));
}

TEST_F(ShardTransfer, TheCoordinatorGivesAShardOnceAndASecondRunTransfersNothing) {
  pack(200, 10'000);
  const TrainJob job = small(200);
  const auto first = run(job, 3);
  expect_complete(first, job, "first");
  constexpr int kWorkers = 3;
  EXPECT_LE(bytes_messages([](const Sent& m) { return m.from == 0; }), kWorkers + shards)
      << "lists, and each shard once";
  EXPECT_GE(bytes_messages([](const Sent& m) { return m.from != 0; }), 2 * train_shards) << "neighbours gave the rest";
  EXPECT_TRUE(refusals(first).empty());

  for (const net::Rank rank : {1, 2, 3}) {
    for (const auto& entry : fs::recursive_directory_iterator(of_rank(rank)))
      EXPECT_EQ(entry.path().string().find("partial-"), std::string::npos) << entry.path();
  }
  const auto second = run(job, 3);
  expect_complete(second, job, "second");
  EXPECT_EQ(trained_parameters(second), trained_parameters(first));
  EXPECT_TRUE(first.has_event("data_is_there"));
  EXPECT_FALSE(second.has_event("data_is_there"));
  EXPECT_LE(bytes_messages([](const Sent&) { return true; }), kWorkers + 2 * (shards - train_shards))
      << "the lists; and of the test split, which went to who was ready, what another had";
  EXPECT_EQ(bytes_messages([](const Sent& m) { return m.from == 0; }), kWorkers) << "the lists";
}

TEST_F(ShardTransfer, WithoutTheSourceThatDiesAtAnyMessageTheShardsComeFromAnother) {
  pack(1300, 2'000'000);  // one shard of 1 MB, four parts
  copy_to(1);
  const TrainJob job = small(60);
  bool lost_in_between = false;
  int k = 0;
  for (;; ++k) {
    forget(2);
    RoleWorld world(3);
    world.die({.rank = 1, .at_send = k, .after = true});
    bool asked = false;  // rank 2; the first time it does so in vain, so that rank 1 has said that it has the data
    const auto outcome = run(job, world, [&](const Sent& message) {
      return message.from == 2 && !std::exchange(asked, true) ? Fate::is_lost : Fate::arrives;
    });
    if (outcome.sent[1] <= k) break;
    expect_complete(outcome, job, "dead after message " + std::to_string(k));
    const auto parts = bytes_messages([](const Sent& m) { return m.from == 1 && m.to == 2; });
    for (const std::string& event : refusals(outcome)) {
      EXPECT_NE(event.find("\"reason\":\"lost\""), std::string::npos) << event;
      if (event.find("train-00000.shard") != std::string::npos && parts > 0) lost_in_between = true;
    }
  }
  EXPECT_GE(k, 8);
  EXPECT_TRUE(lost_in_between) << "once between two parts";
}

TEST_F(ShardTransfer, ASilentSourceIsLeftForAnother) {
  pack(100, 10'000);
  copy_to(1);
  const TrainJob job = small(100);
  RoleWorld world(3);
  const auto outcome = run(job, world, [](const Sent& message) {
    return message.from == 1 && message.tag == kShardBytesTag ? Fate::is_lost : Fate::arrives;
  });
  expect_complete(outcome, job, "silent");
  ASSERT_FALSE(refusals(outcome).empty());
  EXPECT_NE(refusals(outcome).front().find("\"reason\":\"silent\""), std::string::npos);
  EXPECT_GE(bytes_messages([](const Sent& m) { return m.from == 0 && m.to == 2; }), 1 + train_shards);
}

TEST_F(ShardTransfer, WhatIsCorruptIsRefusedAndComesFromAnotherAndTheEventSaysWho) {
  pack(100, 10'000);
  copy_to(1);
  for (const auto& entry : fs::directory_iterator(of_rank(1) / kName)) {
    std::string content = *read_file(entry.path());
    content.back() = static_cast<char>(content.back() ^ 1);
    ASSERT_TRUE(write_file_atomically(entry.path(), content).ok());
  }
  const TrainJob job = small(100);
  RoleWorld world(3);
  const auto outcome = run(job, world);
  expect_complete(outcome, job, "corrupt");
  ASSERT_FALSE(refusals(outcome).empty());
  const std::string node = world.world().endpoint(0).members().all[1].name;
  for (const std::string& event : refusals(outcome)) {
    EXPECT_NE(event.find("\"reason\":\"corrupt\""), std::string::npos) << event;
    EXPECT_NE(event.find("\"node\":\"" + node + "\""), std::string::npos) << event;
  }
  for (const auto& entry : fs::recursive_directory_iterator(of_rank(2))) {
    if (entry.is_regular_file()) {
      EXPECT_EQ(*read_file(entry.path()), *read_file(of_rank(0) / kName / entry.path().filename()));
    }
  }
}

TEST_F(ShardTransfer, CompletesWhateverBecomesOfAnyMessageAboutShards) {
  pack(20, 10'000);
  const TrainJob job = small(20);
  for (const Fate fate : {Fate::is_lost, Fate::arrives_twice, Fate::is_overtaken}) {
    int k = 0;
    for (bool reached = true; reached; k += kMessageStride) {
      for (const net::Rank rank : {1, 2}) forget(rank);
      RoleWorld world(3);
      int number = 0;
      const auto outcome = run(job, world, [&](const Sent& message) {
        const bool is_about_shards = message.tag == kShardTag || message.tag == kShardBytesTag;
        return is_about_shards && number++ == k ? fate : Fate::arrives;
      });
      reached = number > k;
      expect_complete(outcome, job, std::to_string(static_cast<int>(fate)) + " of message " + std::to_string(k));
    }
    EXPECT_GE(k, 15);
  }
}

TEST_F(ShardTransfer, StatisticsAndPartnersOfMixingAreThoseOfAllSamples) {
  pack(100, 10'000);
  TrainJob job = small(100);
  job.set_augment("normalise,mixup:0.2");
  const auto expected = run(of_shards(job, "own"), 2), outcome = run(job, 2);
  expect_complete(outcome, job, "mixup");
  EXPECT_EQ(trained_parameters(outcome), trained_parameters(expected));
}

TEST_F(ShardTransfer, SaysWhatIsWrong) {
  pack(40, 10'000);
  const auto message_of = [&](const TrainJob& job) {
    const auto outcome = run(job, 1);
    return outcome.leader.ok() ? "" : outcome.leader.error().message;
  };
  TrainJob job = small(40);
  job.set_data("glyphs");
  EXPECT_EQ(message_of(job),
            "data_from: cluster is for data in shards, and 'glyphs' is not: pack it with 'mangrove data pack'");
  job.set_data("shards:nowhere");
  EXPECT_NE(message_of(job).find("data_from: cluster: the coordinator: " + (of_rank(0) / "nowhere").string()),
            std::string::npos)
      << message_of(job);
  job = small(40);
  job.set_augment("zca");
  EXPECT_NE(message_of(job).find("with data_from own every node has them"), std::string::npos) << message_of(job);
  job = small(40);
  job.set_data_from("sky");
  EXPECT_EQ(check_job(job).error().message, "data_from: must be own or cluster, got 'sky'");
  job = small_job(40);
  job.set_split("shards");
  const auto outcome = train(job, 1);
  EXPECT_NE(outcome.leader.error().message.find("split: shards is for data in shards"), std::string::npos);
}

TEST_F(ShardTransfer, AFolderThatCannotBeWrittenKeepsAWorkerOutAndSaysSo) {
  pack(40, 10'000);
  ASSERT_TRUE(make_writable_folder(of_rank(1)).ok());
  std::ofstream(of_rank(1) / "fetched") << "a file";
  const auto outcome = run(small(40), 2);
  expect_complete(outcome, small(40), "without rank 1");
  EXPECT_TRUE(outcome.has_event("worker_left_out"));
  EXPECT_TRUE(outcome.has_event((of_rank(1) / "fetched").string()));
}

/// Rank 0 of a job whose only worker asks this, and takes none of the answers.
class AskedByOneWhoTakesNothing final : public net::Endpoint {
 public:
  explicit AskedByOneWhoTakesNothing(std::deque<net::Message> questions) : questions_(std::move(questions)) {}
  net::Rank rank() const override { return 0; }
  int size() const override { return 2; }
  void send(net::Rank, net::Tag tag, std::string payload) override {
    queued_[tag] += static_cast<Bytes>(payload.size());
  }
  Bytes queued_bytes(net::Rank, net::Tag tag) const override {
    const auto found = queued_.find(tag);
    return found == queued_.end() ? 0 : found->second;
  }
  Result<net::Message> recv(const net::RankSet& from, net::Tag tag, Deadline deadline) override {
    return recv_any(from, {tag}, deadline);
  }
  Result<net::Message> recv_any(const net::RankSet&, const std::vector<net::Tag>&, Deadline) override {
    if (questions_.empty()) return make_error(Code::cancelled, "the job ends");
    net::Message next = std::move(questions_.front());
    questions_.pop_front();
    return next;
  }
  net::Members members() const override { return {1, {{0, "coordinator", true}, {1, "mallory", true}}}; }
  net::Traffic traffic() const override { return {}; }
  void cancel() override {}

 private:
  std::deque<net::Message> questions_;
  std::map<net::Tag, Bytes> queued_;
};

TEST_F(ShardTransfer, QuestionsWhoseAnswersNobodyTakesFillNoMemory) {
  pack(2'000, KiB(512));
  ShardMessage list, part, refusal;
  list.mutable_ask();
  part.mutable_read()->set_shard(0);
  refusal.mutable_want()->set_reason(std::string(10'000, 'r'));
  std::deque<net::Message> questions;
  for (int i = 0; i < 1'000; ++i)
    for (ShardMessage* question : {&list, &part, &refusal}) {
      refusal.mutable_want()->set_refused(i);  // most are no ranks of the job
      questions.push_back({1, kShardTag, net::begin_payload(question->SerializeAsString(), 0)});
    }
  AskedByOneWhoTakesNothing endpoint(std::move(questions));
  SteadyClock clock;
  job::Machine device;
  std::vector<Report> reports;
  job::RoleContext context{.endpoint = endpoint,
                           .clock = clock,
                           .device = device,
                           .data_folder = of_rank(0),
                           .stop = {},
                           .report = [&](Report report) { reports.push_back(std::move(report)); }};
  const auto leader = ShardLeader::create(small(2'000), context);
  ASSERT_TRUE(leader.ok()) << leader.error().message;
  EXPECT_EQ((*leader)->recv({1}, 1, clock.after(60)).code(), Code::cancelled) << "all were looked at";
  EXPECT_GT(endpoint.queued_bytes(1, kShardBytesTag), MiB(2));
  EXPECT_LT(endpoint.queued_bytes(1, kShardBytesTag), MiB(5));
  EXPECT_LE(reports.size(), 2U) << "a refusal is told once";
  for (const Report& report : reports) EXPECT_LT(report.json.size(), 1'000U);
}

}  // namespace
}  // namespace mangrove::train
