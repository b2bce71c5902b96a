#include "mangrove/infer/tier_exits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/infer/inference_job.h"

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/early_exit.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/nodes.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tags.h"
#include "mangrove/infer/tier_checks.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::int64_t kSamples = 30, kBatch4 = 4;
constexpr std::size_t kBatches = 8;
// Ranks of the job below.
constexpr net::Rank kEnd = 1, kEdge = 3, kCloud = 4;
constexpr int kRanks = 5;
constexpr Bytes kBehindFirst = 12 * 4, kBehindSecond = 2 * 12 * 4;  // "a"; "a" and "d"

/// Three exits; "a" skips the second.
Graph exits_graph() {
  GraphParts parts;
  parts.name = "exits";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"e1", "e2", "e3"};
  const std::map<std::string, Attribute> transposed = {{"transB", std::int64_t{1}}};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"f"}},
                 {"fc1", "Gemm", transposed, {"f", "w1"}, {"h1"}},
                 {"tanh", "Tanh", {}, {"h1"}, {"a"}},
                 {"exit1", "Gemm", transposed, {"a", "x1"}, {"e1"}},
                 {"fc2", "Gemm", transposed, {"a", "w2"}, {"c"}},
                 {"tanh2", "Tanh", {}, {"c"}, {"d"}},
                 {"exit2", "Gemm", transposed, {"d", "x2"}, {"e2"}},
                 {"add", "Add", {}, {"d", "a"}, {"s"}},
                 {"exit3", "Gemm", transposed, {"s", "x3"}, {"e3"}}};
  parts.initializers = {{"w1", random_tensor({12, 784}, 0.1, 1)},
                        {"w2", random_tensor({12, 12}, 0.6, 2)},
                        {"x1", random_tensor({10, 12}, 1, 3)},
                        {"x2", random_tensor({10, 12}, 1, 4)},
                        {"x3", random_tensor({10, 12}, 1, 5)}};
  return Graph::create(std::move(parts)).value();
}

/// Two end devices, an edge server and the cloud.
InferJob exits_job(const std::string& scheduler, const std::string& policy, const std::vector<float>& thresholds,
                   int on_end = 1) {
  InferJob job = small_job(kSamples, 0);
  job.clear_model();
  job.set_strategy("tiers");
  job.set_scheduler(scheduler);
  job.set_policy(policy);
  job.set_answer_timeout_s(2);
  job.mutable_exit_thresholds()->Add(thresholds.begin(), thresholds.end());
  const struct {
    const char* name;
    int devices;
    Seconds delay;
  } parts[] = {{"end", 2, 0}, {"edge", 1, 0.5}, {"cloud", 1, 1}};
  for (const auto& [name, devices, delay] : parts) {
    TierPart& part = *job.add_tiers();
    part.set_name(name);
    part.set_devices(devices);
    part.set_delay_s(delay);
    part.set_trusted(true);
    job.add_members(encode_onnx(exits_graph()));
  }
  job.mutable_tiers(0)->set_exits(on_end);
  return job;
}

/// One that more than one device dies in is without these.
void without_tier(InferJob& job, int part) {
  job.mutable_tiers()->DeleteSubrange(part, 1);
  job.mutable_members()->DeleteSubrange(part, 1);
}

/// Where each sample leaves, and its class there.
struct Left {
  std::size_t exit = 0;
  std::int32_t label = -1;
  bool operator==(const Left&) const = default;
};
using AllLeft = std::vector<Left>;

/// On one device. entropies: unless null, [sample][exit], of those exits that it came to.
AllLeft on_one_device(const std::vector<float>& thresholds, std::vector<std::vector<float>>* entropies = nullptr) {
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  const auto network =
      EarlyExit::create(exits_graph(), thresholds, {.micro_batch = kBatch4, .backend = "portable"}).value();
  AllLeft all;
  for (std::int64_t begin = 0; begin < kSamples; begin += kBatch4) {
    const std::int64_t count = std::min(kBatch4, kSamples - begin);
    std::vector<float> samples(static_cast<std::size_t>(count * 784));
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_TRUE(dataset
                      ->read(static_cast<std::uint32_t>(begin + i),
                             std::span(samples).subspan(static_cast<std::size_t>(i) * 784, 784))
                      .ok());
    const std::span<const EarlyExit::Answer> answers = network->classify(count, samples).value();
    for (const EarlyExit::Answer& answer : answers)
      all.push_back({static_cast<std::size_t>(answer.exit), answer.predicted});
    if (entropies == nullptr) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto of = network->entropies().subspan(i * network->exits(), network->exits());
      entropies->emplace_back(of.begin(), of.end());
    }
  }
  return all;
}

/// Those that about half of the samples that come to an exit leave at.
std::vector<float> middle_thresholds() {
  std::vector<std::vector<float>> entropies;
  on_one_device({0, 0}, &entropies);
  std::vector<float> thresholds;
  for (std::size_t exit = 0; exit < 2; ++exit) {
    std::vector<float> here;
    for (const auto& of : entropies) here.push_back(of[exit]);
    std::ranges::sort(here);
    thresholds.push_back((here[here.size() / 2 - 1] + here[here.size() / 2]) / 2);
  }
  return thresholds;
}

/// In virtual time. other_data: what ranks have in place of the job's data.
RoleWorld::Outcome run(
    const InferJob& job, const std::function<void(RoleWorld&)>& prepare = [](RoleWorld&) {},
    const std::map<net::Rank, std::string>& other_data = {}) {
  RoleWorld world(kRanks);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  prepare(world);
  return world.run([&](net::RoleContext& context) {
    InferJob given = context.endpoint.rank() == 0 ? job : without_networks(job);
    const auto other = other_data.find(context.endpoint.rank());
    if (other != other_data.end()) given.set_data(other->second);
    return run_inference(given, context);
  });
}

/// The last answer to each image. No image has two first or two second answers, and it has a second one exactly if it
/// stayed.
AllLeft last_answers(const RoleWorld::Outcome& outcome, const std::string& where) {
  EXPECT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  AllLeft all(kSamples);
  if (!outcome.leader.ok()) return all;
  std::vector<int> firsts(kSamples), seconds(kSamples), stayed(kSamples);
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    const bool is_first = line["answer"] == "first";
    EXPECT_EQ(line["images"].size(), line["classes"].size());
    for (std::size_t i = 0; i < line["images"].size(); ++i) {
      const auto image = line["images"][i].get<std::size_t>();
      ++(is_first ? firsts : seconds)[image];
      const json& exit = line["exits"][i];
      if (exit.is_null()) {
        stayed[image] = 1;
      } else {
        all[image] = {exit.get<std::size_t>() - 1, line["classes"][i].get<std::int32_t>()};
      }
    }
  }
  EXPECT_EQ(firsts, std::vector<int>(kSamples, 1)) << where;
  EXPECT_EQ(seconds, stayed) << where;
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["lost"], 0) << where;
  EXPECT_EQ(result["duplicated"], 0) << where;
  return all;
}

json tier(const json& result, const std::string& name) {
  for (const json& tier : result["tiers"])
    if (tier["tier"] == name) return tier;
  return {};
}

TEST(TierExits, LastAnswersAreThoseOfTheNetworkOnOneDevice) {
  const std::vector<std::vector<float>> all = {middle_thresholds(), {0, 0}, {1, 1}, {0, 1}, {1, 0}};
  for (const std::vector<float>& thresholds : all) {
    const AllLeft expected = on_one_device(thresholds);
    for (const char* scheduler : {"end-edge", "end-cloud", "mapping", "auto"}) {
      for (const int on_end : {1, 2}) {
        const std::string where = exit_numbers_text(thresholds) + " " + scheduler + " " + std::to_string(on_end);
        const RoleWorld::Outcome outcome = run(exits_job(scheduler, "monitor", thresholds, on_end));
        EXPECT_EQ(last_answers(outcome, where), expected) << where;
      }
    }
  }
}

TEST(TierExits, OnlySamplesThatStayGoUp) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  std::vector<std::int64_t> left(3);
  for (const Left& sample : expected) ++left[sample.exit];
  for (const std::int64_t samples : left) ASSERT_GT(samples, 2) << "else the test shows less than it says";
  for (const int on_end : {1, 2}) {
    const json result = json::parse(run(exits_job("end-edge", "monitor", thresholds, on_end)).result());
    const std::int64_t stayed = kSamples - left[0] - (on_end == 2 ? left[1] : 0);
    const Bytes bytes = stayed * (on_end == 1 ? kBehindFirst : kBehindSecond);
    EXPECT_EQ(tier(result, "end")["images"], kSamples);
    EXPECT_EQ(tier(result, "edge")["images"], stayed);
    EXPECT_EQ(tier(result, "cloud")["tasks"], 0);
    EXPECT_EQ(result["sent_up_bytes"], bytes);
    EXPECT_DOUBLE_EQ(result["sent_up_bytes_per_image"], static_cast<double>(bytes) / kSamples);
    EXPECT_EQ(result["sample_bytes"], 784);
    for (std::size_t exit = 0; exit < 3; ++exit) {
      EXPECT_EQ(result["exits"][exit]["images"], left[exit]) << exit;
      EXPECT_DOUBLE_EQ(result["exits"][exit]["share"], static_cast<double>(left[exit]) / kSamples);
    }
  }
}

TEST(TierExits, TheAccuracyIsThatOfTheLastAnswers) {
  const std::vector<float> thresholds = middle_thresholds();
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  std::map<std::size_t, std::vector<bool>> right;
  double all = 0;
  for (std::uint32_t image = 0; const Left& sample : on_one_device(thresholds)) {
    right[sample.exit].push_back(sample.label == dataset->label(image++));
    all += right[sample.exit].back() ? 1 : 0;
  }
  const json result = json::parse(run(exits_job("auto", "hedged", thresholds)).result());
  EXPECT_DOUBLE_EQ(result["accuracy"], all / kSamples);
  for (std::size_t exit = 0; exit < 3; ++exit)
    EXPECT_DOUBLE_EQ(result["exits"][exit]["accuracy"], static_cast<double>(std::ranges::count(right[exit], true)) /
                                                            static_cast<double>(right[exit].size()));
}

TEST(TierExits, NothingGoesUpWhenAllLeave) {
  int sent_up = 0, asked = 0;
  const RoleWorld::Outcome outcome = run(exits_job("auto", "hedged", {1, 0}), [&](RoleWorld& world) {
    world.on_report([&](const Report& report) { asked += report.kind == "tier_answers" ? 1 : 0; });
    // the first task is given out when the measuring is over; both are on the thread of rank 0
    world.on_send([&](net::Rank from, net::Rank to, int) {
      if (from == 0 && to >= kEdge && asked > 0) ++sent_up;
    });
  });
  last_answers(outcome, "all leave");
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["sent_up_bytes"], 0);
  EXPECT_EQ(result["exits"][0]["images"], kSamples);
  EXPECT_EQ(tier(result, "edge")["tasks"], 0);
  EXPECT_EQ(tier(result, "cloud")["tasks"], 0);
  EXPECT_EQ(sent_up, 2) << "that the job is over, to each of them";
}

TEST(TierExits, ADeviceThatDiesAtAnyOfItsMessagesChangesNoAnswer) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged", "reassign"}) {
    for (const net::Rank rank : {kEnd, kEdge, kCloud}) {
      const InferJob job = exits_job("auto", policy, thresholds);
      for (int k = 0;; k += 2) {
        const std::string where =
            std::string(policy) + ", rank " + std::to_string(rank) + ", message " + std::to_string(k);
        const RoleWorld::Outcome outcome = run(job, [&](RoleWorld& world) { world.die({.rank = rank, .at_send = k}); });
        if (outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
        EXPECT_EQ(last_answers(outcome, where), expected) << where;
      }
    }
  }
}

TEST(TierExits, OtherTiersDoTheTasksOfOneThatIsLost) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged"}) {
    for (int k = 1; k < 8; k += 2) {
      const std::string where = std::string(policy) + ", message " + std::to_string(k);
      const RoleWorld::Outcome no_cloud = run(exits_job("end-cloud", policy, thresholds), [&](RoleWorld& world) {
        world.die({.rank = kCloud, .at_send = k});
        world.die({.rank = kEdge, .at_send = k});
      });
      EXPECT_EQ(last_answers(no_cloud, where), expected) << "end devices, " << where;
      const RoleWorld::Outcome no_end = run(exits_job("end-cloud", policy, thresholds), [&](RoleWorld& world) {
        world.die({.rank = kEnd, .at_send = k});
        world.die({.rank = kEnd + 1, .at_send = k});
      });
      EXPECT_EQ(last_answers(no_end, where), expected) << "edge and cloud, " << where;
    }
  }
}

TEST(TierExits, EdgeAndCloudNeedNoData) {
  const std::vector<float> thresholds = middle_thresholds();
  const InferJob job = exits_job("auto", "monitor", thresholds);
  const std::map<net::Rank, std::string> none = {{1, "idx:/nonexistent"}, {2, "idx:/nonexistent"}};
  const RoleWorld::Outcome outcome = run(
      job, [](RoleWorld&) {}, none);
  EXPECT_EQ(last_answers(outcome, "without data"), on_one_device(thresholds));
  const json result = json::parse(outcome.result());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NE(result["devices"][i]["tier"], "end") << "they have no data";
  // the devices that see samples die: nobody can do their tasks
  const RoleWorld::Outcome blind = run(
      job,
      [](RoleWorld& world) {
        for (const net::Rank rank : {3, 4}) world.die({.rank = rank, .at_send = 5});
      },
      none);
  EXPECT_EQ(blind.leader.code(), Code::unavailable);
  const std::map<net::Rank, std::string> nobody = {
      {1, "idx:/none"}, {2, "idx:/none"}, {3, "idx:/none"}, {4, "idx:/none"}};
  EXPECT_EQ(run(
                job, [](RoleWorld&) {}, nobody)
                .leader.error()
                .message,
            "no node has the data set");
}

TEST(TierExits, WithoutAPolicyOnlyWhatTheDeadHadIsLost) {
  InferJob job = exits_job("end-cloud", "none", {0, 0});
  job.set_micro_batch(1);
  const RoleWorld::Outcome outcome = run(job, [](RoleWorld& world) { world.die({.rank = kCloud, .at_send = 6}); });
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const json result = json::parse(outcome.result());
  EXPECT_GT(result["lost"], 0);
  EXPECT_EQ(result["exits"][2]["images"].get<int>() + result["lost"].get<int>(), kSamples)
      << "all stay; the others have their second answer: " << outcome.result();
  EXPECT_EQ(result["duplicated"], 0);
}

TEST(TierExits, LostLateAndRepeatedMessagesChangeNothing) {
  using Fate = net::InProcessWorld::Fate;
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const char* policy : {"monitor", "hedged"}) {
    for (const Fate fate : {Fate::is_lost, Fate::arrives_twice, Fate::is_overtaken}) {
      for (const int every : {3, 5, 7}) {
        int messages = 0;  // guarded by the world's lock
        const RoleWorld::Outcome outcome = run(exits_job("auto", policy, thresholds), [&](RoleWorld& world) {
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

TEST(TierExits, GarbageFromADeviceHarmsNobody) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  for (const net::Rank rank : {kEnd, kCloud}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const RoleWorld::Outcome outcome = run(exits_job("auto", "hedged", thresholds), [&](RoleWorld& world) {
        world.replace(rank, [seed](net::RoleContext& context) {
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

TEST(TierExits, GarbageFromTheLeaderHarmsNoDevice) {
  const InferJob job = exits_job("auto", "hedged", {0.5f, 0.5f});
  RoleWorld world(2);
  world.use_virtual_time(0.001);
  world.replace(1, [&](net::RoleContext& context) { return run_inference(without_networks(job), context); });
  std::vector<int> classes;
  const RoleWorld::Outcome outcome = world.run([&](net::RoleContext& context) -> Status {
    Reports reports(context);
    Nodes nodes(context, reports, Networks(job), 1);
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

TEST(TierExits, SwitchingSchedulersDropsNothing) {
  const std::vector<float> thresholds = middle_thresholds();
  const AllLeft expected = on_one_device(thresholds);
  const std::vector<std::string> all = {"end-cloud", "mapping", "end-edge", "auto"};
  for (std::size_t every = 1; every <= kBatches; every += 2) {
    RoleWorld world(kRanks);
    world.use_virtual_time(0.001);
    world.cancel_at_end();
    std::size_t answers = 0;  // on the thread of rank 0
    world.on_report([&](const Report& report) { answers += report.kind == "tier_answers" ? 1 : 0; });
    const InferJob job = exits_job("auto", "hedged", thresholds);
    const RoleWorld::Outcome outcome = world.run([&](net::RoleContext& context) {
      if (context.endpoint.rank() == 0)
        context.switched_to = [&]() -> std::optional<std::string> { return all[answers / every % all.size()]; };
      return run_inference(job, context);
    });
    EXPECT_EQ(last_answers(outcome, "every " + std::to_string(every)), expected);
  }
  EXPECT_FALSE(check_switch(exits_job("auto", "hedged", thresholds), "end").ok());
}

TEST(TierExits, CheckTheJob) {
  const auto refused = [](const std::function<void(InferJob&)>& change) {
    InferJob job = exits_job("auto", "monitor", {0.5f, 0.5f});
    change(job);
    const Status status = check_tiers(job);
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_TRUE(check_tiers(exits_job("mapping", "none", {0.5f, 0.5f}, 2)).ok());
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(0)->set_exits(3); }),
            "tiers: exits: end devices cannot have 3 of the 2 early exit(s) of network 'exits'");
  EXPECT_EQ(refused([](InferJob& job) {
              for (std::string& member : *job.mutable_members()) member = encode_onnx(small_graph());
            }),
            "tiers: exits: network 'small' has no early exits");
  EXPECT_EQ(refused([](InferJob& job) { job.set_members(2, encode_onnx(small_graph())); }),
            "tiers: exits: cloud has another network than end; one lies over all tiers");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(1)->set_exits(1); }),
            "tiers: exits: are for the tier end, not for edge, which computes the rest");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(2)->set_trusted(false); }),
            "tiers: exits: cloud is not trusted: values behind an exit can show the samples, and go up as they are");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(1)->set_coarse(true); }),
            "tiers: exits: edge has other labels than end");
  EXPECT_EQ(refused([](InferJob& job) {
              without_tier(job, 2);
              without_tier(job, 1);
              job.set_scheduler("end");
            }),
            "scheduler: end gives no second answers; samples that stay at the exits of end devices need them");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_exit_thresholds()->RemoveLast(); }),
            "exit_thresholds: expected 2 number(s) from 0 to 1, one for each early exit of the network, got 1");
  EXPECT_NE(refused([](InferJob& job) { job.set_exit_thresholds(1, NAN); }).find("exit_thresholds"), std::string::npos);
  EXPECT_EQ(refused([](InferJob& job) { job.set_accuracy_floor(0.5); }),
            "tiers: exits: accuracy_floor: edge and cloud have the same network");
  EXPECT_EQ(refused([](InferJob& job) { job.set_finish_by_s(3); }),
            "tiers: exits: finish_by: samples that stay have no other answer");
  EXPECT_NE(refused([](InferJob& job) { job.set_micro_batch(2'000'000), job.set_limit(0); }).find("take fewer images"),
            std::string::npos);
}

}  // namespace
}  // namespace mangrove::infer
