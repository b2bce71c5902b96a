// One network with early exits on three levels: end devices, edge server, cloud.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/infer/tiers/dispatch_world.h"
#include "tests/infer/tiers/exits_job.h"

#include "mangrove/base/random.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/network.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

std::vector<std::int64_t> left_at(const AllLeft& all) {
  std::vector<std::int64_t> left(3);
  for (const Left& sample : all) ++left[sample.exit];
  return left;
}

TEST(TierLevels, LastAnswersAreThoseOfTheNetworkOnOneDevice) {
  const std::vector<std::vector<float>> all = {middle_thresholds(), {0, 0}, {1, 1}, {0, 1}, {1, 0}};
  for (const std::vector<float>& thresholds : all) {
    for (const char* policy : {"none", "reassign", "monitor", "hedged"}) {
      const std::string where = exits::exit_numbers_text(thresholds) + " " + policy;
      const RoleWorld::Outcome outcome = run_exits(levels_job(policy, thresholds));
      EXPECT_EQ(last_answers(outcome, where), on_one_device(thresholds)) << where;
    }
  }
}

TEST(TierLevels, OnlySamplesThatStayGoUpEachLink) {
  const std::vector<float> thresholds = middle_thresholds();
  const std::vector<std::int64_t> left = left_at(on_one_device(thresholds));
  for (const std::int64_t samples : left) ASSERT_GT(samples, 2) << "else the test shows less than it says";
  const json result = json::parse(run_exits(levels_job("monitor", thresholds)).result());
  EXPECT_EQ(tier(result, "end")["images"], kSamples);
  EXPECT_EQ(tier(result, "edge")["images"], left[1] + left[2]);
  EXPECT_EQ(tier(result, "cloud")["images"], left[2]);
  const Bytes to_edge = (left[1] + left[2]) * kBehindFirst, to_cloud = left[2] * kBehindSecond;
  EXPECT_EQ(
      result["sent_up"],
      (json{
          {{"answer", "second"}, {"bytes", to_edge}, {"bytes_per_image", static_cast<double>(to_edge) / kSamples}},
          {{"answer", "third"}, {"bytes", to_cloud}, {"bytes_per_image", static_cast<double>(to_cloud) / kSamples}}}));
  EXPECT_EQ(result["sent_up_bytes"], to_edge + to_cloud);
  EXPECT_EQ(result["sample_bytes"], 784);
  const std::vector<std::string> answers = {"first", "second", "third"};
  for (std::size_t exit = 0; exit < 3; ++exit) {
    EXPECT_EQ(result["exits"][exit]["images"], left[exit]) << exit;
    EXPECT_EQ(result["exits"][exit]["answer"], answers[exit]);
  }
}

/// That rank 0 sends to the rank once tasks are given out, and what the job came to.
std::pair<int, json> sent_to(net::Rank rank, const std::vector<float>& thresholds) {
  int sent = 0, answers = 0;  // both on the thread of rank 0
  const RoleWorld::Outcome outcome = run_exits(levels_job("hedged", thresholds), [&](RoleWorld& world) {
    world.on_report([&](const Report& report) { answers += report.kind == ReportKind::line ? 1 : 0; });
    world.on_send([&, rank](net::Rank from, net::Rank to, int) {
      if (from == 0 && to == rank && answers > 0) ++sent;
    });
  });
  EXPECT_EQ(last_answers(outcome, "all leave"), on_one_device(thresholds));
  return {sent, json::parse(outcome.result())};
}

TEST(TierLevels, NothingGoesUpFromWhereAllLeave) {
  for (const net::Rank rank : {kEdge, kCloud}) {
    const auto [sent, result] = sent_to(rank, {1, 0});
    EXPECT_EQ(sent, 1) << "that the job is over";
    EXPECT_EQ(result["sent_up_bytes"], 0);
    EXPECT_EQ(result["exits"][0]["images"], kSamples);
  }
  const auto [sent, result] = sent_to(kCloud, {0, 1});
  EXPECT_EQ(sent, 1) << "that the job is over";
  EXPECT_EQ(result["sent_up"][0]["bytes"], kSamples * kBehindFirst);
  EXPECT_EQ(result["sent_up"][1]["bytes"], 0);
  EXPECT_EQ(result["exits"][1]["images"], kSamples);
  EXPECT_EQ(tier(result, "cloud")["tasks"], 0);
}

TEST(TierLevels, LinesSayWhichAnswerTheyAreAndWhoStays) {
  const RoleWorld::Outcome outcome = run_exits(levels_job("monitor", {0, 0}));
  EXPECT_EQ(answers_of(outcome, "end", "first"), static_cast<std::ptrdiff_t>(kBatches));
  EXPECT_EQ(answers_of(outcome, "edge", "second"), static_cast<std::ptrdiff_t>(kBatches));
  EXPECT_EQ(answers_of(outcome, "cloud", "third"), static_cast<std::ptrdiff_t>(kBatches));
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    for (const json& exit : line["exits"])
      EXPECT_EQ(exit, line["answer"] == "third" ? json(3) : json()) << "all stay: " << line;
  }
}

TEST(TierLevels, ADeviceThatDiesAtEverySecondOfItsMessagesChangesNoAnswer) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged"}) {
    for (const net::Rank rank : {kEnd, kEdge, kCloud}) {
      int deaths = 0;  // after it was measured, before the result
      for (int k = 0;; k += 2) {
        const std::string where =
            std::string(policy) + ", rank " + std::to_string(rank) + ", message " + std::to_string(k);
        const RoleWorld::Outcome outcome = run_exits(
            levels_job(policy, thresholds), [&](RoleWorld& world) { world.die({.rank = rank, .at_send = k}); });
        if (outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
        EXPECT_EQ(last_answers(outcome, where), expected) << where;
        deaths += was_lost(outcome, rank) ? 1 : 0;
      }
      EXPECT_GT(deaths, 0) << policy << ", rank " << rank;
    }
  }
}

TEST(TierLevels, OtherTiersDoTheTasksOfThoseThatAreLost) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  const struct {
    std::vector<net::Rank> dead;
    std::string answer;               // that is theirs
    std::vector<std::string> others;  // who gives it then
  } cases[] = {{{kEdge}, "second", {"end", "cloud"}},
               {{kCloud}, "third", {"end", "edge"}},
               {{kEdge, kCloud}, "second", {"end"}},
               {{kEnd, kEnd + 1}, "first", {"edge", "cloud"}},
               {{kEnd, kEnd + 1, kEdge}, "second", {"cloud"}}};
  for (const char* policy : {"monitor", "hedged"}) {
    for (const auto& lost : cases) {
      std::ptrdiff_t by_others = 0;
      for (int k = 1; k < 8; k += 2) {
        const RoleWorld::Outcome outcome = run_exits(levels_job(policy, thresholds), [&](RoleWorld& world) {
          for (const net::Rank rank : lost.dead) world.die({.rank = rank, .at_send = k});
        });
        EXPECT_EQ(last_answers(outcome, policy + (", " + lost.answer)), expected) << k;
        for (const std::string& other : lost.others) by_others += answers_of(outcome, other, lost.answer);
      }
      EXPECT_GT(by_others, 0) << policy << ": " << lost.answer << ", " << lost.others.front();
    }
  }
}

TEST(TierLevels, BlindCopiesGoToDevicesOfTheSameTier) {
  const std::vector<float> thresholds = middle_thresholds();
  const std::map<std::string, std::string> expected = {{"end", "first"}, {"edge", "second"}, {"cloud", "third"}};
  int copied = 0;
  for (int k = 0; k < 15; k += 3) {
    const RoleWorld::Outcome outcome = run_exits(levels_job("reassign", thresholds),
                                                 [&](RoleWorld& world) { world.die({.rank = kEnd, .at_send = k}); });
    EXPECT_EQ(last_answers(outcome, std::to_string(k)), on_one_device(thresholds));
    if (k == 0) continue;  // it was not there when devices were given tiers
    copied += json::parse(outcome.result())["copied"].get<int>();
    for (const Report& report : outcome.of_kind("tier_answers")) {
      const json line = json::parse(report.json);
      EXPECT_EQ(line["answer"], expected.at(line["tier"])) << line;
    }
  }
  EXPECT_GT(copied, 0) << "else the test shows less than it says";
}

TEST(TierLevels, WithoutAPolicyOnlyWhatTheDeadHadIsLost) {
  for (const net::Rank rank : {kEnd, kEdge, kCloud}) {
    InferJob job = levels_job("none", {0, 0});
    job.set_micro_batch(1);
    const RoleWorld::Outcome outcome =
        run_exits(job, [&](RoleWorld& world) { world.die({.rank = rank, .at_send = 6}); });
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    const json result = json::parse(outcome.result());
    EXPECT_GT(result["lost"], 0) << rank;
    EXPECT_EQ(result["exits"][2]["images"].get<int>() + result["lost"].get<int>(), kSamples)
        << "all stay; an image that has lost an answer is not asked about again: " << outcome.result();
    EXPECT_EQ(result["duplicated"], 0);
  }
}

std::uint64_t link_number(net::Rank from, net::Rank to) {
  return static_cast<std::uint64_t>(from * 100 + to);
}

/// fate: of a message by its number on its link alone, so that the order in which threads send does not decide. Called
/// under the world's lock.
template <class FateOf>
auto by_link(FateOf fate) {
  return [fate, sent = std::map<std::pair<net::Rank, net::Rank>, std::uint64_t>()](net::Rank from, net::Rank to,
                                                                                   net::Tag) mutable {
    return fate(from, to, sent[{from, to}]++);
  };
}

TEST(TierLevels, LostLateAndRepeatedMessagesChangeNothing) {
  using Fate = net::InProcessWorld::Fate;
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged"}) {
    InferJob job = levels_job(policy, thresholds);  // two devices of each tier: one may wait long for its network
    for (TierPart& part : *job.mutable_tiers()) part.set_devices(2);
    for (const Fate fate : {Fate::is_lost, Fate::arrives_twice, Fate::is_overtaken}) {
      for (const std::uint64_t every : {5U, 7U, 11U}) {
        const RoleWorld::Outcome outcome = run_exits(job, [&](RoleWorld& world) {
          world.world().set_fate(by_link([&](net::Rank from, net::Rank to, std::uint64_t message) {
            return (message + link_number(from, to)) % every == every - 1 ? fate : Fate::arrives;
          }));
        });
        const std::string where = std::string(policy) + ", fate " + std::to_string(static_cast<int>(fate)) +
                                  ", every " + std::to_string(every);
        EXPECT_EQ(last_answers(outcome, where), expected) << where;
      }
    }
  }
}

TEST(TierLevels, FaultsFromManySeedsChangeNoAnswer) {
  using Fate = net::InProcessWorld::Fate;
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  int deaths = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    InferJob job = levels_job(seed % 2 == 0 ? "hedged" : "monitor", thresholds);
    for (TierPart& part : *job.mutable_tiers()) part.set_devices(2);
    Random random(seed);
    const Death death{.rank = static_cast<net::Rank>(1 + random.below(6)),
                      .at_send = static_cast<int>(5 + random.below(8))};
    const RoleWorld::Outcome outcome = run_exits(job, [&](RoleWorld& world) {
      world.die(death);
      world.world().set_fate(by_link([&](net::Rank from, net::Rank to, std::uint64_t message) {
        const std::uint64_t fate = random.fork(link_number(from, to)).fork(message).below(30);
        return fate == 0   ? Fate::is_lost
               : fate == 1 ? Fate::arrives_twice
               : fate == 2 ? Fate::is_overtaken
                           : Fate::arrives;
      }));
    });
    EXPECT_EQ(last_answers(outcome, "seed " + std::to_string(seed)), expected) << seed;
    deaths += was_lost(outcome, death.rank) ? 1 : 0;
  }
  EXPECT_GT(deaths, 5) << "else the test shows less than it says";
}

TEST(TierLevels, WithoutAPolicyThatLooksATierThatDiesIsNotReplaced) {
  InferJob job = levels_job("reassign", {0, 0});
  job.set_micro_batch(1);
  const RoleWorld::Outcome outcome =
      run_exits(job, [](RoleWorld& world) { world.die({.rank = kCloud, .at_send = 12}); });
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::unavailable);
}

TEST(TierLevels, EdgeAndCloudNeedNoData) {
  const std::vector<float> thresholds = middle_thresholds();
  const RoleWorld::Outcome outcome = run_exits(levels_job("monitor", thresholds), [](RoleWorld&) {},
                                               {{1, "idx:/nonexistent"}, {2, "idx:/nonexistent"}});
  EXPECT_EQ(last_answers(outcome, "without data"), on_one_device(thresholds));
  EXPECT_EQ(json::parse(outcome.result())["devices"][0]["tier"], "edge");
  EXPECT_EQ(json::parse(outcome.result())["devices"][1]["tier"], "cloud");
}

TEST(TierLevels, TheEdgePassesOnWhatStaysThere) {
  const InferJob job = levels_job("monitor", {0, 0});
  const auto network = make_tier_network(exits_graph(), job, 1, Answer::second, {.micro_batch = job.micro_batch()});
  ASSERT_TRUE(network.ok()) << network.error().message;
  Command task;
  task.set_answer(static_cast<std::uint32_t>(Answer::second));
  task.set_count(kBatch4);
  task.set_values(std::string(static_cast<std::size_t>(kBatch4 * kBehindFirst), '\0'));
  const auto said = (*network)->answer(task, {.images = {}, .labels = {}, .count = kBatch4});
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(std::ssize(said->values()), kBatch4 * kBehindSecond) << "all stay at the second exit too";
}

TEST(TierLevels, AnswersThatDoNotFitAreIgnored) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  const Changes of_edge = {{"too few exits", [](TierAnswer& said) { said.mutable_exits()->RemoveLast(); }},
                           {"an exit of end devices", [](TierAnswer& said) { said.set_exits(0, 0); }},
                           {"an exit that there is not", [](TierAnswer& said) { said.set_exits(0, 3); }},
                           {"values of one more", [](TierAnswer& said) {
                              said.mutable_values()->append(static_cast<std::size_t>(kBehindSecond), 'x');
                            }}};
  const Changes of_cloud = {{"the edge's exit", [](TierAnswer& said) { said.set_exits(0, 1); }},
                            {"one that stays", [](TierAnswer& said) { said.set_exits(0, 3); }},
                            {"values", [](TierAnswer& said) { said.set_values("x"); }},
                            {"an answer that there is not", [](TierAnswer& said) { said.set_answer(3); }}};
  const auto expect_ignored = [&](int part, net::Rank rank, const Changes& changes) {
    InferJob job = levels_job("hedged", thresholds);  // with another device of that tier, which does the tasks
    job.mutable_tiers(0)->set_devices(1);
    job.mutable_tiers(part)->set_devices(2);
    for (const auto& [what, change] : changes) {
      int changed = 0;
      const RoleWorld::Outcome outcome = run_with_liar(job, rank, static_cast<Answer>(part), change, changed);
      EXPECT_EQ(last_answers(outcome, what), expected) << what;
      EXPECT_GT(changed, 0) << what;
      EXPECT_EQ(answers_of(outcome, rank), 0) << what;
    }
  };
  expect_ignored(1, 2, of_edge);
  expect_ignored(2, 3, of_cloud);
}

TEST(TierLevels, CheckTheJob) {
  const auto refused = [](const std::function<void(InferJob&)>& change) {
    InferJob job = levels_job("monitor", {0.5f, 0.5f});
    change(job);
    const Status status = check_tiers(job);
    EXPECT_FALSE(status.ok());
    if (status.ok()) return std::string();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    return status.error().message;
  };
  const InferJob good = levels_job("monitor", {0.5f, 0.5f});
  EXPECT_TRUE(check_tiers(good).ok());
  EXPECT_EQ(
      refused([](InferJob& job) { job.mutable_tiers(0)->set_exits(2); }),
      "tiers: exits: edge servers go on behind exit 2, that of end devices, and stop at exit 2: give them a later "
      "one");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(0)->set_exits(0); }),
            "tiers: exits: edge servers go on behind an exit of end devices, and section 'end' has no key 'exits'");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(1)->set_exits(3); }),
            "tiers: exits: edge servers cannot have 3 of the 2 early exits of network 'exits'");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(2)->set_exits(2); }),
            "tiers: exits: are for the tiers end and edge, not for cloud, which computes the rest");
  EXPECT_EQ(refused([](InferJob& job) {
              job.mutable_tiers()->RemoveLast();
              job.mutable_members()->RemoveLast();
            }),
            "tiers: exits: edge servers stop at exit 2, and there is no tier cloud for the rest");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(1)->set_trusted(false); }),
            "tiers: exits: edge is not trusted: values behind an exit can show the samples, and go up as they are");
  for (const std::string scheduler : {"end-cloud", "mapping", "auto"}) {
    const std::string problem = "scheduler: " + scheduler +
                                " gives no third answers; samples that stay at the exits of edge servers need them: "
                                "take end-edge";
    EXPECT_EQ(refused([&](InferJob& job) { job.set_scheduler(scheduler); }), problem);
    EXPECT_EQ(check_switch(good, scheduler).error().message, problem);
  }
  EXPECT_NE(refused([](InferJob& job) { job.set_scheduler("end"); }).find("gives no second answers"),
            std::string::npos);
  // behind the first exit a million images are 48 MB, behind the second 96 MB
  EXPECT_NE(refused([](InferJob& job) {
              job.set_micro_batch(1'000'000), job.set_limit(0);
            }).find("tiers: exits: exit 2 sends"),
            std::string::npos);
}

using testing::DispatchWorld;
using testing::Emulated;
using testing::tiers;

/// All batches need all levels.
TierDispatch::Options on_levels(const char* scheduler, const char* policy = "monitor") {
  TierDispatch::Options options = testing::options(scheduler, policy);
  options.later_on_demand = true;
  return options;
}

TEST(TierLevels, FinishAsPredicted) {
  for (const auto& devices : {tiers(8, 4, 1), tiers(4, 2, 1, 0.2, 2, 0.1), tiers(8, 4, 1, 1, 1, 8)}) {
    for (const std::size_t batches : {1u, 8u, 40u, 200u}) {
      for (const Scheduler& scheduler : schedulers()) {
        const std::size_t levels = std::min<std::size_t>(scheduler.answers, 3);
        if (levels == 1) continue;
        TierCosts costs{.batches = batches, .tiers = {}, .levels = levels};
        for (const Emulated& device : devices) {
          TierCosts::Of& of = costs.tiers[static_cast<std::size_t>(device.tier)];
          of = {of.devices + 1, device.service, device.delay};
        }
        DispatchWorld run(batches, devices, on_levels(scheduler.name.data()));
        run.want_answers(levels);
        EXPECT_NEAR(run.run() / scheduler.predict(costs), 1, batches < 200 ? 0.05 : 0.03)
            << scheduler.name << ", " << batches << " batches";
        EXPECT_EQ(run.answers().size(), levels * batches);
      }
    }
  }
}

TEST(TierLevels, EndDevicesWaitWhereMuchIsKeptForOthers) {
  const auto slow_edge = tiers(8, 1, 1, 0.1, 5, 0.1), slow_cloud = tiers(8, 4, 1, 0.1, 0.1, 5);
  auto dead_edge = tiers(8, 4, 1, 1, 0.5, 0.5);
  for (Emulated& device : dead_edge)
    if (device.tier == Tier::edge) device.dies_after = 2;
  for (const char* policy : {"monitor", "hedged"}) {
    for (const auto& devices : {slow_edge, slow_cloud, dead_edge}) {
      TierDispatch::Options options = on_levels("end-edge", policy);
      DispatchWorld free(200, devices, options);
      free.want_answers(3);
      const Seconds needed = free.run();
      options.most_later = 25;
      DispatchWorld held(200, devices, options);
      held.want_answers(3);
      EXPECT_LT(held.run(), 1.05 * needed) << "they waited for others anyway";
      EXPECT_EQ(held.answers().size(), 600u);
      EXPECT_LE(held.most_open(), 25 + 2 * 8) << "and the tasks that end devices had by then";
      EXPECT_GT(free.most_open(), 80);
    }
  }
}

TEST(TierLevels, KeepSoManyTasksThatTheirValuesFit) {
  const Result<TierExits> exits = tier_exits(levels_job("monitor", {0.5f, 0.5f}));
  ASSERT_TRUE(exits.ok()) << exits.error().message;
  EXPECT_EQ(exits->most_kept(1000), 256'000'000u / (1000 * kBehindSecond));
  EXPECT_EQ(exits->most_kept(10'000'000), 1u);
}

}  // namespace
}  // namespace mangrove::infer
