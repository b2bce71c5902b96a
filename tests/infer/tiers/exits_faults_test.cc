#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/infer/tiers/exits_job.h"

#include "mangrove/base/random.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

TEST(TierExitsFaults, ADeviceThatDiesAtEverySecondOfItsMessagesChangesNoAnswer) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged", "reassign"}) {
    for (const net::Rank rank : {kEnd, kEdge, kCloud}) {
      InferJob job = exits_job("auto", policy, thresholds);
      if (rank == kCloud) job.mutable_tiers(1)->set_delay_s(2);  // else the edge gets all tasks
      int deaths = 0;                                            // after it was measured, before the result
      for (int k = 0;; k += 2) {
        const std::string where =
            std::string(policy) + ", rank " + std::to_string(rank) + ", message " + std::to_string(k);
        const RoleWorld::Outcome outcome =
            run_exits(job, [&](RoleWorld& world) { world.die({.rank = rank, .at_send = k}); });
        if (outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
        EXPECT_EQ(last_answers(outcome, where), expected) << where;
        deaths += was_lost(outcome, rank) ? 1 : 0;
      }
      EXPECT_GT(deaths, 0) << policy << ", rank " << rank;
    }
  }
}

TEST(TierExitsFaults, OtherTiersDoTheTasksOfOneThatIsLost) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged"}) {
    std::ptrdiff_t by_end = 0, by_others = 0;
    for (int k = 1; k < 8; k += 2) {
      const std::string where = std::string(policy) + ", message " + std::to_string(k);
      const RoleWorld::Outcome no_cloud = run_exits(exits_job("end-cloud", policy, thresholds), [&](RoleWorld& world) {
        world.die({.rank = kCloud, .at_send = k});
        world.die({.rank = kEdge, .at_send = k});
      });
      EXPECT_EQ(last_answers(no_cloud, where), expected) << "end devices, " << where;
      by_end += answers_of(no_cloud, "end", "second");
      const RoleWorld::Outcome no_end = run_exits(exits_job("end-cloud", policy, thresholds), [&](RoleWorld& world) {
        world.die({.rank = kEnd, .at_send = k});
        world.die({.rank = kEnd + 1, .at_send = k});
      });
      EXPECT_EQ(last_answers(no_end, where), expected) << "edge and cloud, " << where;
      by_others += answers_of(no_end, "edge", "first") + answers_of(no_end, "cloud", "first");
    }
    EXPECT_GT(by_end, 0) << policy;
    EXPECT_GT(by_others, 0) << policy;
  }
}

TEST(TierExitsFaults, WithoutAPolicyOnlyWhatTheDeadHadIsLost) {
  InferJob job = exits_job("end-cloud", "none", {0, 0});
  job.set_micro_batch(1);
  const RoleWorld::Outcome outcome =
      run_exits(job, [](RoleWorld& world) { world.die({.rank = kCloud, .at_send = 6}); });
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const json result = json::parse(outcome.result());
  EXPECT_GT(result["lost"], 0);
  EXPECT_EQ(result["exits"][2]["images"].get<int>() + result["lost"].get<int>(), kSamples)
      << "all stay; the others have their second answer: " << outcome.result();
  EXPECT_EQ(result["duplicated"], 0);
}

TEST(TierExitsFaults, LostLateAndRepeatedMessagesChangeNothing) {
  using Fate = net::InProcessWorld::Fate;
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged"}) {
    for (const Fate fate : {Fate::is_lost, Fate::arrives_twice, Fate::is_overtaken}) {
      for (const int every : {3, 5, 7}) {
        int messages = 0;  // guarded by the world's lock
        const RoleWorld::Outcome outcome = run_exits(exits_job("auto", policy, thresholds), [&](RoleWorld& world) {
          world.world().set_fate(
              [&](net::Rank, net::Rank, net::Tag) { return messages++ % every == every - 1 ? fate : Fate::arrives; });
        });
        const std::string where = std::string(policy) + ", fate " + std::to_string(static_cast<int>(fate)) +
                                  ", every " + std::to_string(every);
        EXPECT_EQ(last_answers(outcome, where), expected) << where;
      }
    }
  }
}

TEST(TierExitsFaults, FirstAnswersThatDoNotFitAreIgnored) {
  constexpr auto kLargest = std::numeric_limits<std::uint32_t>::max();
  const Changes changes = {{"too few exits", [](TierAnswer& said) { said.mutable_exits()->RemoveLast(); }},
                           {"too many exits", [](TierAnswer& said) { said.add_exits(0); }},
                           {"an exit of other tiers", [](TierAnswer& said) { said.set_exits(0, 2); }},
                           {"an exit that there is not", [](TierAnswer& said) { said.set_exits(0, kLargest); }},
                           {"values a byte short",
                            [](TierAnswer& said) {
                              std::string& values = *said.mutable_values();
                              values.resize(values.empty() ? 1 : values.size() - 1);
                            }},
                           {"values of one more", [](TierAnswer& said) {
                              said.mutable_values()->append(static_cast<std::size_t>(kBehindFirst), 'x');
                            }}};
  const std::vector<std::vector<float>> some_or_all_leave = {middle_thresholds(), {1, 0}};
  for (const std::vector<float>& thresholds : some_or_all_leave) {
    const AllLeft expected = on_one_device(thresholds);
    for (const auto& [what, change] : changes) {
      int changed = 0;
      const InferJob job = exits_job("auto", "hedged", thresholds);
      const RoleWorld::Outcome outcome = run_with_liar(job, kEnd, Answer::first, change, changed);
      EXPECT_EQ(last_answers(outcome, what), expected) << what;
      EXPECT_GT(changed, 0) << what;
      EXPECT_EQ(answers_of(outcome, kEnd), 0) << what;
    }
  }
}

TEST(TierExitsFaults, SecondAnswersThatDoNotFitAreIgnored) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  const Changes changes = {{"too few exits", [](TierAnswer& said) { said.mutable_exits()->RemoveLast(); }},
                           {"too many exits", [](TierAnswer& said) { said.add_exits(1); }},
                           {"an exit of end devices", [](TierAnswer& said) { said.set_exits(0, 0); }},
                           {"an exit that there is not", [](TierAnswer& said) { said.set_exits(0, 3); }},
                           {"values", [](TierAnswer& said) { said.set_values("x"); }}};
  for (const auto& [what, change] : changes) {
    int changed = 0;
    const InferJob job = exits_job("auto", "hedged", thresholds);
    const RoleWorld::Outcome outcome = run_with_liar(job, kEdge, Answer::second, change, changed);
    EXPECT_EQ(last_answers(outcome, what), expected) << what;
    EXPECT_GT(changed, 0) << what;
    EXPECT_EQ(answers_of(outcome, kEdge), 0) << what;
  }
}

TEST(TierExitsFaults, ValuesThatAreNoNumbersHarmNobody) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  const auto change = [](TierAnswer& said) {
    const std::vector<float> values(said.values().size() / sizeof(float), std::numeric_limits<float>::quiet_NaN());
    said.clear_values();
    net::append_floats(*said.mutable_values(), values);
  };
  int changed = 0;
  const RoleWorld::Outcome outcome =
      run_with_liar(exits_job("auto", "hedged", thresholds), kEnd, Answer::first, change, changed);
  const AllLeft all = last_answers(outcome, "no numbers");
  EXPECT_GT(changed, 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (expected[i].exit == 0) {
      EXPECT_EQ(all[i], expected[i]) << i;
    } else {
      EXPECT_GE(all[i].exit, 1u) << i;
    }
  }
  const json result = json::parse(outcome.result());
  for (const json& device : result["devices"]) EXPECT_FALSE(device["lost"].get<bool>()) << device;
}

TEST(TierExitsFaults, GarbageFromADeviceHarmsNobody) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const net::Rank rank : {kEnd, kCloud}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const RoleWorld::Outcome outcome = run_exits(exits_job("auto", "hedged", thresholds), [&](RoleWorld& world) {
        world.replace(rank, [seed](job::RoleContext& context) {
          Random random(seed);
          for (int i = 0; i < 300; ++i) {
            FromNode message;
            TierAnswer& answer = *message.mutable_tier_answer();
            answer.set_request(random.below(2));
            answer.set_micro_batch(random.below(10));
            answer.set_answer(static_cast<std::uint32_t>(random.below(3)));
            const std::size_t count = random.below(5);
            for (std::size_t k = 0; k < count; ++k) {
              answer.add_classes(static_cast<std::int32_t>(random.below(10)));
              answer.add_confidences(1);
              answer.add_truths(static_cast<std::int32_t>(random.below(10)));
              answer.add_exits(static_cast<std::uint32_t>(random.below(4)));
            }
            answer.set_values(std::string(random.below(4) * static_cast<std::size_t>(kBehindFirst), 'x'));
            context.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
          }
          return make_error(Code::internal, "it has said enough");
        });
      });
      const std::string where = "rank " + std::to_string(rank) + ", seed " + std::to_string(seed);
      EXPECT_EQ(last_answers(outcome, where), expected) << where;
    }
  }
}

TEST(TierExitsFaults, GarbageFromTheLeaderHarmsNoDevice) {
  const InferJob job = exits_job("auto", "hedged", {0.5f, 0.5f});
  RoleWorld world(2);
  world.use_virtual_time(0.001);
  world.replace(1, [&](job::RoleContext& context) { return run_inference(without_networks(job), context); });
  std::vector<int> classes;
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    Reports reports(context);
    NodeRoster nodes(context, reports, NetworkServer(job), 1);
    nodes.grant_network(1, 0);
    MG_TRY(const Hello data, nodes.gather());
    Random random(3);
    Command command;
    for (int i = 0; i < 200; ++i) {
      command.set_kind(random.below(4) > 0 ? Command::TASK : Command::DROP);
      command.set_micro_batch(random.below(10));
      command.set_answer(static_cast<std::uint32_t>(random.below(3)));
      command.set_begin(static_cast<std::int64_t>(random.below(50)) - 10);
      command.set_count(static_cast<std::int64_t>(random.below(9)) - 2);
      command.set_member(static_cast<std::uint32_t>(random.below(4)));
      command.set_values(std::string(random.below(6) * static_cast<std::size_t>(kBehindFirst), '\xff'));
      nodes.send(1, command);
    }
    command = {};
    command.set_kind(Command::TASK);
    command.set_request(7);
    command.set_count(kBatch4);
    nodes.send(1, command);
    while (classes.empty()) {
      MG_TRY(const auto said, nodes.next(context.clock.after(60)));
      if (!said || said->message.tier_answer().request() != 7) continue;
      for (const std::int32_t label : said->message.tier_answer().classes()) classes.push_back(label);
    }
    nodes.end();
    return {};
  });
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
  EXPECT_EQ(classes.size(), static_cast<std::size_t>(kBatch4));
}

}  // namespace
}  // namespace mangrove::infer
