#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/infer/views/views_job.h"
#include "tests/infer/watched_endpoint.h"

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

TEST(ViewsFaults, ADeviceThatIsNotThereFromTheStartIsALostView) {
  for (const char* fusions : {"average-concat", "max-max", "concat-average"}) {
    const Graph graph = ddnn(fusions);
    const std::vector<float> thresholds = middle_thresholds(graph);
    OnOneDevice network(graph, thresholds);
    const RoleWorld::Outcome outcome = infer_views(views_job(graph, thresholds), kViews + 1, [](RoleWorld& world) {
      world.replace(2, [](job::RoleContext&) { return Status(); });
      world.die({.rank = 2, .at_send = 0});
      world.kill(2);
    });
    EXPECT_EQ(expect_right(outcome, network, fusions), std::set<int>{2});
    EXPECT_EQ(json::parse(outcome.result())["views"][1]["micro_batches_without"], kBatches);
  }
}

TEST(ViewsFaults, ADeviceWithOtherDataOrNoneIsALostView) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  for (const char* data : {"glyphs,classes=0;1;2;3;4;5;6;7;8", "idx:/nowhere"}) {
    InferJob other = without_networks(views_job(graph, thresholds));
    other.set_data(data);
    const RoleWorld::Outcome outcome = infer_views(views_job(graph, thresholds), kViews + 1, [&](RoleWorld& world) {
      world.replace(1, [&](job::RoleContext& context) { return run_inference(other, context); });
    });
    EXPECT_EQ(expect_right(outcome, network, data), std::set<int>{1});
  }
}

TEST(ViewsFaults, ADeviceThatDiesAtAnyOfItsMessagesIsALostViewFromThenOn) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  int partly = 0;  // the view was there for some
  for (int k = 0;; ++k) {
    const std::string where = "message " + std::to_string(k);
    InferJob job = views_job(graph, thresholds);
    job.set_window(1 + k % 4);
    const RoleWorld::Outcome outcome = infer_views(
        job, kViews + k % 2, [&](RoleWorld& world) { world.die({.rank = 3, .at_send = k, .after = k % 3 == 0}); });
    if (outcome.sent[3] <= k) break;
    const std::set<int> lost = expect_right(outcome, network, where);
    const json without = json::parse(outcome.result())["views"][2]["micro_batches_without"];
    partly += without > 0 && without < kBatches ? 1 : 0;
  }
  EXPECT_GT(partly, 5);
}

TEST(ViewsFaults, DevicesThatDieOneAfterTheOther) {
  const Graph graph = ddnn("max-average");
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  std::set<int> lost;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const RoleWorld::Outcome outcome = infer_views(views_job(graph, thresholds), kViews + 2, [&](RoleWorld& world) {
      for (const net::Rank rank : {1, 2, 4, kUpper})
        world.die({.rank = rank, .at_send = static_cast<int>(random.below(30)), .after = random.below(2) == 0});
    });
    const std::set<int> here = expect_right(outcome, network, "seed " + std::to_string(seed));
    lost.insert(here.begin(), here.end());
  }
  EXPECT_EQ(lost, (std::set<int>{1, 2, 4}));
}

TEST(ViewsFaults, ADeviceThatIsSilentIsALostView) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  for (const int at : {4, 6, 9}) {
    const RoleWorld::Outcome outcome = infer_views(views_job(graph, thresholds), kViews + 1, [&](RoleWorld& world) {
      world.on_send([&world, at](net::Rank from, net::Rank, int number) {
        if (from == 4 && number == at) world.freeze(4, 2.5);  // its process is still there
      });
    });
    EXPECT_EQ(expect_right(outcome, network, std::to_string(at)), std::set<int>{4});
    EXPECT_TRUE(outcome.has_event("it has not answered")) << at;
  }
}

TEST(ViewsFaults, WithoutAnyDeviceTheJobFails) {
  const Graph graph = ddnn();
  const RoleWorld::Outcome outcome = infer_views(views_job(graph, {0.5f}), kViews + 1, [](RoleWorld& world) {
    for (net::Rank rank = 1; rank <= kViews; ++rank) world.die({.rank = rank, .at_send = 4});
  });
  EXPECT_EQ(outcome.leader.code(), Code::unavailable);
}

TEST(ViewsFaults, WhatAnUpperNodeHadWhenItDiedIsComputedElsewhere) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  for (const int nodes : {kViews + 1, kViews + 2}) {
    int redone = 0;
    for (int k = 0;; ++k) {
      const std::string where = std::to_string(nodes) + " nodes, message " + std::to_string(k);
      const RoleWorld::Outcome outcome = infer_views(
          views_job(graph, thresholds), nodes, [&](RoleWorld& world) { world.die({.rank = kUpper, .at_send = k}); });
      if (outcome.sent[kUpper] <= k) break;
      EXPECT_TRUE(expect_right(outcome, network, where).empty()) << where;
      redone += outcome.has_event("redone") ? 1 : 0;
    }
    EXPECT_GT(redone, 1) << nodes;
  }
}

TEST(ViewsFaults, LostLateAndRepeatedMessagesLeaveEveryAnswerThatOfTheNetwork) {
  using Fate = net::InProcessWorld::Fate;
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  for (const Fate fate : {Fate::is_lost, Fate::arrives_twice, Fate::is_overtaken}) {
    for (int first = 8; first < 120; first += 9) {
      int messages = 0;  // guarded by the world's lock
      const RoleWorld::Outcome outcome = infer_views(views_job(graph, thresholds), kViews + 1, [&](RoleWorld& world) {
        world.world().set_fate([&](net::Rank, net::Rank, net::Tag) {
          ++messages;
          const bool is_hit = fate == Fate::arrives_twice ? messages % first == 0 : messages == first;
          return is_hit ? fate : Fate::arrives;
        });
      });
      expect_right(outcome, network,
                   "fate " + std::to_string(static_cast<int>(fate)) + ", message " + std::to_string(first));
    }
  }
}

/// The job with a node that changes what it says.
RoleWorld::Outcome run_with_liar(const InferJob& job, net::Rank rank, const std::function<bool(FromNode&)>& change,
                                 int& changed, Seconds delay = 0.001) {
  return infer_views(job, kViews + 1, [&](RoleWorld& world) {
    world.use_virtual_time(delay);
    world.replace(rank, [&](job::RoleContext& context) {
      WatchedEndpoint endpoint(context.endpoint);
      endpoint.on_send = [&](net::Rank, net::Tag tag, std::string& payload) {
        FromNode message;
        if (tag != kFromNodeTag || !message.ParseFromString(payload) || !change(message)) return;
        ++changed;
        payload = message.SerializeAsString();
      };
      job::RoleContext lying = with_endpoint(context, endpoint);
      return run_inference(without_networks(job), lying);
    });
  });
}

TEST(ViewsFaults, ADeviceWhoseValuesDoNotFitIsSilent) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  const std::vector<std::function<bool(ViewValues&)>> changes = {
      [](ViewValues& said) { return said.values().empty() ? false : (said.mutable_values()->pop_back(), true); },
      [](ViewValues& said) { return said.mutable_values()->append(4, 'x'), true; },
      [](ViewValues& said) { return said.truths().empty() ? false : (said.mutable_truths()->RemoveLast(), true); },
      [](ViewValues& said) { return said.truths().empty() ? false : (said.set_truths(0, 10), true); },
      [](ViewValues& said) { return said.truths().empty() ? (said.add_truths(0), true) : false; },
      [](ViewValues& said) { return said.set_request(said.request() + 1000), true; },
      [](ViewValues& said) { return said.set_request(0), true; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    int changed = 0;
    const auto change = [&](FromNode& message) {
      return message.has_view_values() && changes[i](*message.mutable_view_values());
    };
    const RoleWorld::Outcome outcome = run_with_liar(views_job(graph, thresholds), 1, change, changed);
    EXPECT_EQ(expect_right(outcome, network, "change " + std::to_string(i)), std::set<int>{1}) << i;
    EXPECT_GT(changed, 0) << i;
  }
}

TEST(ViewsFaults, AnUpperNodeWhoseAnswersDoNotFitIsSilent) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  const std::vector<std::function<void(RestAnswer&)>> changes = {
      [](RestAnswer& said) { said.mutable_exits()->RemoveLast(); },
      [](RestAnswer& said) { said.add_classes(0); },
      [](RestAnswer& said) { said.set_exits(0, 0); },
      [](RestAnswer& said) { said.set_exits(0, 2); },
      [](RestAnswer& said) { said.set_classes(0, -1); },
      [](RestAnswer& said) { said.set_classes(0, 10); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    int changed = 0;
    const auto change = [&](FromNode& message) {
      if (message.has_rest_answer()) changes[i](*message.mutable_rest_answer());
      return message.has_rest_answer();
    };
    const RoleWorld::Outcome outcome = run_with_liar(views_job(graph, thresholds), kUpper, change, changed);
    EXPECT_TRUE(expect_right(outcome, network, "change " + std::to_string(i)).empty()) << i;
    EXPECT_GT(changed, 0) << i;
    EXPECT_TRUE(json::parse(outcome.result())["upper"][0]["node"].is_null()) << i;
  }
}

TEST(ViewsFaults, ADeviceThatLeavesOneQuestionUnansweredIsSilent) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  for (const int wrong : {1, 3, 6}) {
    int changed = 0, answers = 0;
    const auto change = [&](FromNode& message) {
      if (!message.has_view_values() || ++answers != wrong) return false;
      message.mutable_view_values()->set_request(0);
      return true;
    };
    InferJob job = views_job(graph, thresholds);
    job.set_window(2);  // it answers what is in the other place
    const RoleWorld::Outcome outcome = run_with_liar(job, 1, change, changed, 0.5);
    EXPECT_EQ(expect_right(outcome, network, std::to_string(wrong)), std::set<int>{1}) << wrong;
    EXPECT_EQ(changed, 1);
    EXPECT_GT(json::parse(outcome.result())["views"][0]["micro_batches_without"], 1) << "noticed before the end";
  }
}

TEST(ViewsFaults, ADeviceWhoseLabelsDifferSeesOtherImages) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  for (const net::Rank rank : {1, 4}) {
    int changed = 0;
    const auto change = [&](FromNode& message) {
      ViewValues& said = *message.mutable_view_values();
      if (said.truths().empty()) return false;
      said.set_truths(0, (said.truths(0) + 1) % 10);
      return true;
    };
    const RoleWorld::Outcome outcome = run_with_liar(views_job(graph, thresholds), rank, change, changed);
    const std::set<int> lost = {static_cast<int>(rank)};
    EXPECT_EQ(expect_right(outcome, network, "rank " + std::to_string(rank)), lost);
    EXPECT_TRUE(outcome.has_event("its labels differ from those of most other devices"));
    double right = 0;
    for (std::uint32_t image = 0; const Left& left : network.without(lost))
      right += left.label == dataset->label(image++) ? 1 : 0;
    EXPECT_DOUBLE_EQ(json::parse(outcome.result())["accuracy"], right / kSamples);
  }
}

TEST(ViewsFaults, ADeviceThatFailsSaysWhy) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  int changed = 0;
  const auto change = [](FromNode& message) {
    message.mutable_hello()->set_code(static_cast<int>(Code::data_loss));
    message.mutable_hello()->set_message("its camera is broken");
    return true;
  };
  const RoleWorld::Outcome outcome = run_with_liar(views_job(graph, thresholds), 2, change, changed);
  EXPECT_EQ(expect_right(outcome, network, "broken"), std::set<int>{2});
  bool says_why = false;
  for (const Report& report : outcome.of_kind("event")) {
    const json event = json::parse(report.json);
    const bool is_lost = event["event"] == "view_lost";
    says_why =
        says_why || (is_lost && event["reason"].get<std::string>().find("its camera is broken") != std::string::npos);
  }
  EXPECT_TRUE(says_why);
}

TEST(ViewsFaults, DevicesThatAreNotNeededAnyMoreMayDie) {
  const Graph graph = ddnn();
  const InferJob job = views_job(graph, {0});  // all samples go up
  OnOneDevice network(graph, {0});
  const int last_task = infer_views(job, kViews + 1).sent[0] - (kViews + 1) - 1;  // then come the ends of the job
  for (const net::Rank last : {net::Rank{kViews}, kUpper}) {
    const RoleWorld::Outcome outcome = infer_views(job, kViews + 1, [&](RoleWorld& world) {
      world.on_send([&world, last, last_task](net::Rank from, net::Rank, int number) {
        if (from != 0 || number != last_task) return;
        for (net::Rank rank = 1; rank <= last; ++rank) world.kill(rank);
      });
    });
    EXPECT_TRUE(expect_right(outcome, network, std::to_string(last) + " nodes").empty());
    EXPECT_EQ(outcome.has_event("redone"), last == kUpper);
  }
}

/// What no node says honestly. real: what it says now.
FromNode garbage(const FromNode& real, Random& random) {
  std::uint64_t request = real.has_view_values() ? real.view_values().request() : real.rest_answer().request();
  if (random.below(2) == 0) request = 1000 + random.below(50);
  FromNode message;
  if (random.below(2) == 0) {
    ViewValues& values = *message.mutable_view_values();
    values.set_request(request);
    values.set_values(std::string(random.below(4) * 40 + 1, 'x'));  // no number of floats
    for (std::size_t k = random.below(5); k > 0; --k) values.add_truths(3);
  } else {
    RestAnswer& answer = *message.mutable_rest_answer();
    answer.set_request(request);
    answer.add_classes(1);
    answer.add_exits(0);  // where nothing leaves that goes up
  }
  return message;
}

TEST(ViewsFaults, GarbageBetweenANodesAnswersHarmsNobody) {
  const Graph graph = ddnn();
  const std::vector<float> thresholds = middle_thresholds(graph);
  OnOneDevice network(graph, thresholds);
  const InferJob job = views_job(graph, thresholds);
  for (const net::Rank rank : {net::Rank{2}, kUpper}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      int said = 0;
      const RoleWorld::Outcome outcome = infer_views(job, kViews + 1, [&](RoleWorld& world) {
        world.replace(rank, [&](job::RoleContext& context) {
          Random random(seed);
          WatchedEndpoint endpoint(context.endpoint);
          endpoint.on_send = [&](net::Rank to, net::Tag tag, std::string& payload) {
            FromNode real;
            if (tag != kFromNodeTag || !real.ParseFromString(payload)) return;
            context.endpoint.send(to, tag, garbage(real, random).SerializeAsString());
            context.endpoint.send(to, tag, std::string(1 + random.below(9), '\xff'));
            ++said;
          };
          job::RoleContext talking = with_endpoint(context, endpoint);
          return run_inference(without_networks(job), talking);
        });
      });
      const std::string where = "rank " + std::to_string(rank) + ", seed " + std::to_string(seed);
      EXPECT_TRUE(expect_right(outcome, network, where).empty()) << where;
      EXPECT_FALSE(json::parse(outcome.result())["upper"][0]["node"].is_null()) << where;
      EXPECT_GT(said, 3) << where;
    }
  }
}

TEST(ViewsFaults, ADeviceWhoseImagesDoNotFitTheNetworkComputesNothing) {
  InferJob job = views_job(zoo::build_model("ddnn-4", {.sample_shape = {1, 64, 64}}).value(), {0.5f});
  RoleWorld world(2);
  world.use_virtual_time(0.001);
  world.replace(1, [&](job::RoleContext& context) { return run_inference(without_networks(job), context); });
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    Reports reports(context);
    NodeRoster nodes(context, reports, NetworkServer(job), 1);
    MG_TRY(const Hello data, nodes.gather());
    EXPECT_EQ(data.sample_shape(1), 28) << "glyphs";
    Command command;
    command.set_kind(Command::VIEW);
    command.set_request(7);
    command.set_count(kBatch4);
    nodes.send(1, command);
    MG_TRY(const auto said, nodes.next(context.clock.after(1)));
    EXPECT_FALSE(said) << "it answers";
    nodes.end();
    return {};
  });
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
}

TEST(ViewsFaults, GarbageFromTheLeaderHarmsNoNode) {
  const InferJob job = views_job(ddnn(), {0.5f});
  RoleWorld world(kUpper + 1);
  world.use_virtual_time(0.001);
  int answers = 0;
  for (net::Rank rank = 1; rank <= kUpper; ++rank)
    world.replace(rank, [&](job::RoleContext& context) { return run_inference(without_networks(job), context); });
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    Reports reports(context);
    NodeRoster nodes(context, reports, NetworkServer(job), 1);
    nodes.take_without_data();
    MG_TRY(const Hello data, nodes.gather());
    Random random(3);
    Command command;
    const Command::Kind kinds[] = {Command::VIEW, Command::FEATURES, Command::REST};
    for (int i = 0; i < 300; ++i) {
      command.Clear();
      command.set_kind(kinds[random.below(3)]);
      command.set_micro_batch(random.below(6));
      command.set_keep_from(random.below(8));
      command.set_begin(static_cast<std::int64_t>(random.below(50)) - 10);
      command.set_count(static_cast<std::int64_t>(random.below(9)) - 2);
      for (std::size_t k = random.below(6); k > 0; --k) command.add_rows(static_cast<std::uint32_t>(random.below(5)));
      command.set_values(std::string(random.below(5) * static_cast<std::size_t>(kViews * kFeatures), '\xff'));
      nodes.send(random.below(2) == 0 ? 1 : kUpper, command);
    }
    command.Clear();
    command.set_kind(Command::VIEW);
    command.set_request(7);
    command.set_micro_batch(9);
    command.set_count(kBatch4);
    nodes.send(1, command);
    command.set_kind(Command::REST);
    command.set_values(std::string(static_cast<std::size_t>(kBatch4 * kViews * kFeatures), '\0'));
    nodes.send(kUpper, command);
    while (answers < 2) {
      MG_TRY(const auto said, nodes.next(context.clock.after(60)));
      if (!said) continue;
      answers += said->message.view_values().request() == 7 || said->message.rest_answer().request() == 7 ? 1 : 0;
    }
    nodes.end();
    return {};
  });
  EXPECT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
  EXPECT_TRUE(outcome.others.back().ok()) << outcome.others.back().error().message;
}

}  // namespace
}  // namespace mangrove::infer
