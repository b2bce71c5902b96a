#include "mangrove/infer/tiers/tiers.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/infer/inference_job.h"

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/tags.h"
#include "mangrove/infer/tiers/bottom_models.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/infer/tiers/measurements.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

constexpr std::int64_t kTiersSamples = 30;
constexpr std::size_t kBatches = 8;
// Ranks of the job below.
constexpr net::Rank kTiersEnd = 1, kEdge = 3, kCloud = 4;
constexpr int kRanks = 5;

/// One matrix product.
std::string linear(std::int64_t classes, std::uint64_t seed) {
  Tensor weights(DType::f32, {classes, 784});
  Random random(seed);
  for (float& value : weights.as<float>()) value = static_cast<float>(0.1 * random.normal());
  GraphParts parts;
  parts.name = "linear";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"f"}},
                 {"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"f", "w"}, {"logits"}}};
  parts.initializers = {{"w", std::move(weights)}};
  return encode_onnx(*Graph::create(std::move(parts)));
}

/// Two end devices with coarse answers, an edge server and the cloud with fine ones.
InferJob tiers_job(const std::string& scheduler, const std::string& policy) {
  InferJob job = small_job(kTiersSamples, 0);
  job.clear_model();
  job.set_strategy("tiers");
  job.set_scheduler(scheduler);
  job.set_policy(policy);
  job.set_answer_timeout_s(2);
  const struct {
    const char* name;
    int devices;
    Seconds delay;
  } parts[] = {{"end", 2, 0}, {"edge", 1, 0.5}, {"cloud", 1, 1}};
  for (const auto& [name, devices, delay] : parts) {
    TierPart& part = *job.add_tiers();
    part.set_name(name);
    part.set_devices(devices);
    part.set_coarse(job.tiers_size() == 1);
    part.set_delay_s(delay);
    part.set_trusted(true);
    job.add_members(linear(part.coarse() ? 3 : 10, static_cast<std::uint64_t>(job.tiers_size())));
  }
  return job;
}

/// In virtual time.
RoleWorld::Outcome run_tiers(
    const InferJob& job, const std::function<void(RoleWorld&)>& prepare = [](RoleWorld&) {}) {
  RoleWorld world(kRanks);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  prepare(world);
  return infer(job, world);
}

/// Every image has got each answer that was asked for, once; returns how many tasks that were.
std::size_t expect_each_once(const RoleWorld::Outcome& outcome, const std::string& where) {
  EXPECT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  if (!outcome.leader.ok()) return 0;
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["images"], kTiersSamples) << where;
  EXPECT_EQ(result["lost"], 0) << where;
  EXPECT_EQ(result["duplicated"], 0) << where;
  std::map<std::pair<std::string, std::int64_t>, int> seen;
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    ++seen[{line["answer"], line["begin"]}];
    EXPECT_EQ(line["classes"].size(), line["confidences"].size());
    for (const json& confidence : line["confidences"]) EXPECT_TRUE(confidence > 0.0 && confidence <= 1.0);
  }
  for (const auto& [task, times] : seen) EXPECT_EQ(times, 1) << where << ": " << task.first << " " << task.second;
  return seen.size();
}

/// Of a job that has one scheduler all the time.
void expect_exactly_once(const RoleWorld::Outcome& outcome, const InferJob& job, const std::string& where) {
  EXPECT_EQ(expect_each_once(outcome, where), job.scheduler() == "end" ? kBatches : 2 * kBatches) << where;
}

json tier(const json& result, const std::string& name) {
  for (const json& tier : result["tiers"])
    if (tier["tier"] == name) return tier;
  return {};
}

TEST(Tiers, NumbersThatWouldHoldItForEverAreRefused) {
  const std::function<void(TierPart&)> spoils[] = {
      [](TierPart& part) { part.set_devices(2'147'483'647); }, [](TierPart& part) { part.set_delay_s(1e300); },
      [](TierPart& part) { part.set_rate(1e-300); }, [](TierPart& part) { part.set_rate(-1); }};
  for (const auto& spoil : spoils) {
    InferJob job = tiers_job("end-cloud", "reassign");
    spoil(*job.mutable_tiers(2));
    const RoleWorld::Outcome outcome = run_tiers(job);
    ASSERT_FALSE(outcome.leader.ok());
    EXPECT_EQ(outcome.leader.code(), Code::invalid_argument) << outcome.leader.error().message;
    EXPECT_NE(outcome.leader.error().message.find("cloud"), std::string::npos) << outcome.leader.error().message;
  }
}

TEST(Tiers, EverySchedulerAnswersEachImageOncePerTierAskedFor) {
  for (const Scheduler& scheduler : schedulers()) {
    const InferJob job = tiers_job(std::string(scheduler.name), "hedged");
    const RoleWorld::Outcome outcome = run_tiers(job);
    expect_exactly_once(outcome, job, std::string(scheduler.name));
    const json result = json::parse(outcome.result());
    EXPECT_GT(result["predicted_seconds"], 0.0);
    EXPECT_EQ(tier(result, "end")["tasks"], kBatches);
    EXPECT_EQ(tier(result, "edge")["tasks"].get<std::size_t>() + tier(result, "cloud")["tasks"].get<std::size_t>(),
              scheduler.asks_for(Answer::second) ? kBatches : 0);
    EXPECT_EQ(result["devices"].size(), 4u);
  }
}

TEST(Tiers, AnswerAsTheNetworksAlone) {
  const json result = json::parse(run_tiers(tiers_job("end-edge", "monitor")).result());
  InferJob alone = small_job(kTiersSamples, 0);
  alone.set_strategy("single");
  alone.set_model(linear(10, 2));
  const double accuracy = json_number(infer(alone, 1).result(), "accuracy");
  EXPECT_DOUBLE_EQ(result["accuracy"], accuracy);
  EXPECT_DOUBLE_EQ(tier(result, "edge")["accuracy"], accuracy);
  alone.set_data("glyphs,labels=coarse");
  alone.set_model(linear(3, 1));
  EXPECT_DOUBLE_EQ(tier(result, "end")["accuracy"], json_number(infer(alone, 1).result(), "accuracy"));
  EXPECT_GE(result["coarse_accuracy"], result["accuracy"]) << "a right class has the right class above it";
}

TEST(Tiers, CoarseAnswersComeFirstAndDelaysOverlap) {
  const RoleWorld::Outcome outcome = run_tiers(tiers_job("end-cloud", "monitor"));
  double coarse = 0, fine = 1e9;
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    if (line["answer"] == "first") coarse = std::max(coarse, line["at_s"].get<double>());
    if (line["answer"] == "second") fine = std::min(fine, line["at_s"].get<double>());
  }
  EXPECT_LT(coarse, 0.5);
  EXPECT_GE(fine, 1);
  EXPECT_LT(json_number(outcome.result(), "seconds"), 1.5) << "eight tasks, each 1 s on its way";
}

TEST(Tiers, ADeviceThatDiesAtAnyOfItsMessagesLosesNoImage) {
  for (const char* policy : {"monitor", "hedged", "reassign"}) {
    for (const net::Rank rank : {kTiersEnd, kEdge, kCloud}) {
      const InferJob job = tiers_job("auto", policy);
      for (int k = 0;; k += 2) {
        const RoleWorld::Outcome outcome =
            run_tiers(job, [&](RoleWorld& world) { world.die({.rank = rank, .at_send = k}); });
        if (outcome.sent[static_cast<std::size_t>(rank)] <= k) break;
        expect_exactly_once(outcome, job,
                            std::string(policy) + ", rank " + std::to_string(rank) + ", message " + std::to_string(k));
      }
    }
  }
}

/// Switches to one scheduler after the other, with each `every`-th answer.
RoleWorld::Outcome run_switching(const InferJob& job, const std::vector<std::string>& schedulers, std::size_t every) {
  RoleWorld world(kRanks);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  std::size_t answers = 0;  // on the thread of rank 0
  world.on_report([&](const Report& report) {
    if (report.kind != ReportKind::line || ++answers % every != 0) return;
    world.world().endpoint(0).send(0, job::kControlTag, schedulers[(answers / every - 1) % schedulers.size()]);
  });
  return world.run([&](job::RoleContext& context) { return run_evenly(job, context); });
}

TEST(Tiers, SwitchingTheSchedulerAtAnyMomentDropsNothing) {
  const std::vector<std::string> all = {"end", "end-cloud", "mapping", "end", "end-edge", "auto"};
  for (std::size_t every = 1; every <= 2 * kBatches; ++every) {
    const RoleWorld::Outcome outcome = run_switching(tiers_job("auto", "hedged"), all, every);
    const std::string where = "every " + std::to_string(every);
    const std::size_t tasks = expect_each_once(outcome, where);
    std::string last = "auto";
    for (const Report& report : outcome.of_kind("event")) {
      const json event = json::parse(report.json);
      EXPECT_EQ(event["event"], "scheduler_switched");
      EXPECT_EQ(event["from"], last);
      EXPECT_GE(event["at_s"], 0.0);
      last = event["to"];
    }
    if (every <= kBatches) {
      EXPECT_FALSE(outcome.of_kind("event").empty()) << where;
    }
    if (last == "end") {
      EXPECT_GE(tasks, kBatches) << where;
    } else {
      EXPECT_EQ(tasks, 2 * kBatches) << where;
    }
  }
}

TEST(Tiers, ChecksASwitch) {
  InferJob job = tiers_job("auto", "monitor");
  EXPECT_TRUE(check_switch(job, "end").ok());
  EXPECT_EQ(check_switch(job, "endless").code(), Code::invalid_argument);
  job.mutable_tiers()->RemoveLast();
  job.mutable_members()->RemoveLast();
  EXPECT_TRUE(check_switch(job, "end-edge").ok());
  EXPECT_EQ(check_switch(job, "end-cloud").error().message,
            "scheduler: end-cloud needs a tier cloud, and there is none");
  EXPECT_EQ(check_switch(small_job(kTiersSamples, 2), "end").code(), Code::failed_precondition);
}

TEST(Tiers, WithoutAPolicyOnlyTasksOfTheDeadAreLost) {
  InferJob job = tiers_job("end", "none");
  job.set_micro_batch(1);  // so many tasks that none of the two gets all, whatever was measured of them
  const RoleWorld::Outcome outcome =
      run_tiers(job, [](RoleWorld& world) { world.die({.rank = kTiersEnd, .at_send = 5}); });
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_GT(json_number(outcome.result(), "lost"), 0);
  EXPECT_LT(json_number(outcome.result(), "lost"), kTiersSamples)
      << "the other device does its part: " << outcome.result();
  EXPECT_EQ(json_number(outcome.result(), "duplicated"), 0);
}

TEST(Tiers, AllDevicesDeadIsAClearError) {
  const RoleWorld::Outcome outcome = run_tiers(tiers_job("auto", "hedged"), [](RoleWorld& world) {
    for (net::Rank rank = 1; rank < kRanks; ++rank) world.die({.rank = rank, .at_send = 3});
  });
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_EQ(outcome.leader.code(), Code::unavailable);
}

TEST(Tiers, LostLateAndRepeatedMessagesChangeNothing) {
  using Fate = net::InProcessWorld::Fate;
  for (const char* policy : {"monitor", "hedged", "reassign"}) {
    const InferJob job = tiers_job("auto", policy);
    for (const Fate fate : {Fate::is_lost, Fate::arrives_twice, Fate::is_overtaken}) {
      for (const int every : {3, 5, 7}) {  // odd: a task and its answer are not lost in turn for ever
        int messages = 0;                  // guarded by the world's lock
        const RoleWorld::Outcome outcome = run_tiers(job, [&](RoleWorld& world) {
          world.world().set_fate(
              [&](net::Rank, net::Rank, net::Tag) { return messages++ % every == every - 1 ? fate : Fate::arrives; });
        });
        expect_exactly_once(outcome, job,
                            std::string(policy) + ", fate " + std::to_string(static_cast<int>(fate)) + ", every " +
                                std::to_string(every));
      }
    }
    for (const int late : {6, 20, 33}) {
      const RoleWorld::Outcome outcome = run_tiers(job, [&](RoleWorld& world) { world.network().delay(late, 9); });
      expect_exactly_once(outcome, job, std::string(policy) + ", late " + std::to_string(late));
    }
  }
}

TEST(Tiers, AFrozenDeviceHoldsNobodyUp) {
  const InferJob job = tiers_job("auto", "hedged");
  const RoleWorld::Outcome outcome = run_tiers(job, [](RoleWorld& world) {
    world.on_send([&world, frozen = false](net::Rank from, net::Rank, int number) mutable {
      if (frozen || from != kTiersEnd || number != 5) return;
      frozen = true;
      world.freeze(kTiersEnd, 2.5);
    });
  });
  expect_exactly_once(outcome, job, "frozen");
  EXPECT_LT(json_number(outcome.result(), "seconds"), 2) << "without waiting for it";
}

TEST(Tiers, ALateAnswerIsNotTakenForThatToTheRepeatedQuestion) {
  const InferJob job = tiers_job("end", "monitor");
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  const auto next_task = [](job::RoleContext& context) -> Result<Command> {
    Command command;
    while (command.kind() != Command::TASK) {
      MG_TRY(const net::Message message, context.endpoint.recv({0}, kCommandTag, context.clock.after(60)));
      EXPECT_TRUE(command.ParseFromString(message.payload));
    }
    return command;
  };
  const RoleWorld::Outcome outcome = run_tiers(job, [&](RoleWorld& world) {
    world.replace(kTiersEnd, [&](job::RoleContext& context) -> Status {
      FromNode message;
      *message.mutable_hello() = describe_data(*dataset, kTiersSamples);
      context.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
      for (int task = 0; task < 3; ++task) {
        MG_TRY(const Command first, next_task(context));
        MG_TRY(const Command again, next_task(context));
        EXPECT_NE(first.request(), again.request());
        message.mutable_tier_answer()->set_request(first.request());
        message.mutable_tier_answer()->set_seconds(0.1);
        context.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
      }
      return {};
    });
  });
  expect_exactly_once(outcome, job, "a slow device");
  const json device = json::parse(outcome.result())["devices"][0];
  EXPECT_DOUBLE_EQ(device["task_s"], 0.1);
  EXPECT_NEAR(device["delay_s"], 2 - 0.1, 0.1) << "from the question, not from when it was repeated";
}

TEST(Tiers, GarbageFromADeviceHarmsNobody) {
  const InferJob job = tiers_job("auto", "hedged");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RoleWorld::Outcome outcome = run_tiers(job, [&](RoleWorld& world) {
      world.replace(kTiersEnd, [&, seed](job::RoleContext& context) {
        Random random(seed);
        for (int i = 0; i < 300; ++i) {
          FromNode message;
          TierAnswer& answer = *message.mutable_tier_answer();
          answer.set_request(random.below(3));
          answer.set_micro_batch(random.below(10));
          answer.set_answer(static_cast<std::uint32_t>(random.below(3)));
          answer.set_seconds(random.below(2) == 0 ? -1 : 1e300);
          for (int k = 0; k < 4; ++k) {
            answer.add_classes(static_cast<std::int32_t>(random.below(4)));
            answer.add_confidences(-1);
            answer.add_truths(static_cast<std::int32_t>(random.below(11)));
          }
          context.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
        }
        return make_error(Code::internal, "it has said enough");
      });
    });
    expect_exactly_once(outcome, job, "seed " + std::to_string(seed));
  }
}

TEST(Tiers, GarbageFromTheLeaderHarmsNoDevice) {
  RoleWorld world(2);
  const InferJob job = tiers_job("auto", "hedged");
  world.replace(1, [&](job::RoleContext& context) { return run_tiers(job, context); });
  const RoleWorld::Outcome outcome = world.run([&](job::RoleContext& context) -> Status {
    Random random(3);
    Command command;
    for (int i = 0; i < 500; ++i) {
      command.set_kind(random.below(2) == 0 ? Command::TASK : Command::DROP);
      command.set_micro_batch(random.below(10));
      command.set_begin(static_cast<std::int64_t>(random.below(50)) - 10);
      command.set_count(static_cast<std::int64_t>(random.below(9)) - 2);
      command.set_member(static_cast<std::uint32_t>(random.below(5)));
      context.endpoint.send(1, kCommandTag, i % 2 == 0 ? command.SerializeAsString() : std::string(i % 7, 'x'));
    }
    command.set_kind(Command::END);
    context.endpoint.send(1, kCommandTag, command.SerializeAsString());
    return {};
  });
  EXPECT_TRUE(outcome.others.front().ok()) << outcome.others.front().error().message;
}

TEST(Tiers, ChecksTheJob) {
  const auto refused = [](const std::function<void(InferJob&)>& change) {
    InferJob job = tiers_job("auto", "monitor");
    change(job);
    const Status status = check_tiers(job);
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_TRUE(check_tiers(tiers_job("mapping", "none")).ok());
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers()->RemoveLast(); }), "tiers: 2 tiers with 3 networks");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(0)->set_name("edge"); }), "tiers: edge is there twice");
  EXPECT_EQ(refused([](InferJob& job) {
              job.set_scheduler("end-cloud");
              job.mutable_tiers()->RemoveLast();
              job.mutable_members()->RemoveLast();
            }),
            "scheduler: end-cloud needs a tier cloud, and there is none");
  EXPECT_EQ(refused([](InferJob& job) { job.set_accuracy_floor(0.5); }),
            "accuracy_floor: needs the key 'accuracy' of tier 'edge' in the tier file");
  EXPECT_EQ(refused([](InferJob& job) {
              job.set_scheduler("end");
              job.set_finish_by_s(3);
            }),
            "finish_by: is for the scheduler auto, not 'end'");
}

TEST(Tiers, RefuseNetworksThatDoNotFit) {
  InferJob job = tiers_job("auto", "monitor");
  job.set_members(0, linear(10, 1));
  const RoleWorld::Outcome fine = run_tiers(job);
  ASSERT_FALSE(fine.leader.ok());
  EXPECT_NE(fine.leader.error().message.find("tiers: end"), std::string::npos) << fine.leader.error().message;
  job = tiers_job("auto", "monitor");
  job.set_data("glyphs,labels=coarse");
  const RoleWorld::Outcome flat = run_tiers(job);
  ASSERT_FALSE(flat.leader.ok());
  EXPECT_NE(flat.leader.error().message.find("tiers: end: labels are coarse, and data set"), std::string::npos)
      << flat.leader.error().message;
}

TEST(TiersOf, NodesNamedAsATierAreOfItAndTheOthersFillUp) {
  const InferJob job = tiers_job("auto", "monitor");
  const std::map<net::Rank, std::size_t> expected = {{1, 2}, {2, 0}, {3, 0}, {4, 1}};
  EXPECT_EQ(tiers_of(job, {{1, "cloud"}, {2, "pi"}, {3, "end-17"}, {4, "pi-2"}, {5, "too-many"}}, {}), expected);
  const std::map<net::Rank, std::size_t> by_rank = {{1, 0}, {2, 0}, {3, 1}, {4, 2}};
  EXPECT_EQ(tiers_of(job, {{1, "node-1"}, {2, "node-2"}, {3, "node-3"}, {4, "endive-4"}}, {}), by_rank);
}

TEST(TiersOf, OneTooManyOfATierThatIsNotTrustedSeesNoSamplesOfAnother) {
  InferJob job = tiers_job("auto", "monitor");
  const std::map<net::Rank, std::string> names = {{1, "cloud-1"}, {2, "cloud-2"}, {3, "end"}};
  EXPECT_EQ(tiers_of(job, names, {}), (std::map<net::Rank, std::size_t>{{1, 2}, {2, 0}, {3, 0}}));
  job.mutable_tiers(2)->set_trusted(false);
  EXPECT_EQ(tiers_of(job, names, {}), (std::map<net::Rank, std::size_t>{{1, 2}, {3, 0}}));
}

TEST(TiersOf, WhoHasNoDataIsWhereItComesWithTheTasks) {
  using Tiers = std::map<net::Rank, std::size_t>;
  InferJob job = tiers_job("auto", "monitor");  // two end devices, one of edge, one of cloud
  const std::map<net::Rank, std::string> names = {{1, "end-1"}, {2, "pi-2"}, {3, "pi-3"}, {4, "pi-4"}};
  EXPECT_EQ(tiers_of(job, names, {1, 3}), (Tiers{{2, 0}, {4, 0}})) << "nowhere";
  job.mutable_tiers(2)->set_trusted(false);
  EXPECT_EQ(tiers_of(job, names, {}), (Tiers{{1, 0}, {2, 0}, {3, 1}, {4, 2}}));
  EXPECT_EQ(tiers_of(job, names, {1}), (Tiers{{1, 2}, {2, 0}, {3, 0}, {4, 1}}));
  EXPECT_EQ(tiers_of(job, names, {3, 4}), (Tiers{{1, 0}, {2, 0}, {3, 2}})) << "one too many";
  job.mutable_tiers(0)->set_trusted(false);
  job.mutable_tiers(2)->set_trusted(true);
  EXPECT_EQ(tiers_of(job, names, {4}), (Tiers{{1, 0}, {2, 1}, {3, 2}, {4, 0}})) << "the others leave it room";
}

}  // namespace
}  // namespace mangrove::infer
