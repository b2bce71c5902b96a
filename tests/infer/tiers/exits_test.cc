#include "mangrove/infer/tiers/exits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/infer/tiers/exits_job.h"

#include "mangrove/data/dataset.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/infer/tiers/network.h"

namespace mangrove::infer {
namespace {

using nlohmann::json;

void without_tier(InferJob& job, int part) {
  job.mutable_tiers()->DeleteSubrange(part, 1);
  job.mutable_members()->DeleteSubrange(part, 1);
}

TEST(TierExits, LastAnswersAreThoseOfTheNetworkOnOneDevice) {
  const std::vector<std::vector<float>> all = {middle_thresholds(), {0, 0}, {1, 1}, {0, 1}, {1, 0}};
  for (const std::vector<float>& thresholds : all) {
    const AllLeft expected = on_one_device(thresholds);
    for (const char* scheduler : {"end-edge", "end-cloud", "mapping", "auto"}) {
      for (const int on_end : {1, 2}) {
        const std::string where = exits::exit_numbers_text(thresholds) + " " + scheduler + " " + std::to_string(on_end);
        const RoleWorld::Outcome outcome = run_exits(exits_job(scheduler, "monitor", thresholds, on_end));
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
    const json result = json::parse(run_exits(exits_job("end-edge", "monitor", thresholds, on_end)).result());
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
  const json result = json::parse(run_exits(exits_job("auto", "hedged", thresholds)).result());
  EXPECT_DOUBLE_EQ(result["accuracy"], all / kSamples);
  for (std::size_t exit = 0; exit < 3; ++exit)
    EXPECT_DOUBLE_EQ(result["exits"][exit]["accuracy"], static_cast<double>(std::ranges::count(right[exit], true)) /
                                                            static_cast<double>(right[exit].size()));
}

TEST(TierExits, NothingGoesUpWhenAllLeave) {
  int sent_up = 0, asked = 0;
  const RoleWorld::Outcome outcome = run_exits(exits_job("auto", "hedged", {1, 0}), [&](RoleWorld& world) {
    world.on_report([&](const Report& report) { asked += report.kind == ReportKind::line ? 1 : 0; });
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

TEST(TierExits, EdgeAndCloudNeedNoData) {
  const std::vector<float> thresholds = middle_thresholds();
  const InferJob job = exits_job("auto", "monitor", thresholds);
  const std::map<net::Rank, std::string> none = {{1, "idx:/nonexistent"}, {2, "idx:/nonexistent"}};
  const RoleWorld::Outcome outcome = run_exits(
      job, [](RoleWorld&) {}, none);
  EXPECT_EQ(last_answers(outcome, "without data"), on_one_device(thresholds));
  const json result = json::parse(outcome.result());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NE(result["devices"][i]["tier"], "end") << "they have no data";
  // the devices that see samples die: nobody can do their tasks
  const RoleWorld::Outcome blind = run_exits(
      job,
      [](RoleWorld& world) {
        for (const net::Rank rank : {3, 4}) world.die({.rank = rank, .at_send = 5});
      },
      none);
  EXPECT_EQ(blind.leader.code(), Code::unavailable);
  const std::map<net::Rank, std::string> nobody = {
      {1, "idx:/none"}, {2, "idx:/none"}, {3, "idx:/none"}, {4, "idx:/none"}};
  EXPECT_EQ(run_exits(
                job, [](RoleWorld&) {}, nobody)
                .leader.error()
                .message,
            "no node has the data set");
}

TEST(TierExits, ANodeWithoutDataForWhichThereIsNoRoomIsLeftOut) {
  const std::vector<float> thresholds = middle_thresholds();
  const RoleWorld::Outcome outcome =
      run_exits(exits_job("auto", "monitor", thresholds), [](RoleWorld&) {},
                {{1, "idx:/nonexistent"}, {2, "idx:/nonexistent"}, {3, "idx:/nonexistent"}});
  EXPECT_EQ(last_answers(outcome, "one end device"), on_one_device(thresholds));
  EXPECT_TRUE(outcome.has_event("it does not have the other nodes' data set 'glyphs', which end devices need"));
}

TEST(TierExits, NodesWithoutDataWaitForThoseThatHaveIt) {
  const std::vector<float> thresholds = middle_thresholds();
  const InferJob job = exits_job("auto", "monitor", thresholds);
  const auto run_late = [&](Seconds late) {
    const auto play = [&job, late](job::RoleContext& context) {
      constexpr net::Tag kNobodySends = 99;
      EXPECT_FALSE(context.endpoint.recv({0}, kNobodySends, context.clock.after(late)).ok());
      return run_inference(without_networks(job), context);
    };
    return run_exits(job,
                     [&](RoleWorld& world) {
                       for (const net::Rank rank : {3, 4}) world.replace(rank, play);
                     },
                     {{1, "idx:/nonexistent"}, {2, "idx:/nonexistent"}});
  };
  ASSERT_LT(job.answer_timeout_s(), 5);
  EXPECT_EQ(last_answers(run_late(5), "late"), on_one_device(thresholds));
  const RoleWorld::Outcome never = run_late(1000);
  ASSERT_FALSE(never.leader.ok());
  EXPECT_EQ(never.leader.code(), Code::unavailable);
  EXPECT_NE(never.leader.error().message.find("no node with the data set has answered for 6.0 s"), std::string::npos)
      << never.leader.error().message;
}

TEST(TierExits, UpperTiersAreMeasuredAsIfAllStayed) {
  const InferJob job = exits_job("auto", "monitor", {1, 1});
  const auto network = make_tier_network(exits_graph(), job, 1, Answer::second, {.micro_batch = job.micro_batch()});
  ASSERT_TRUE(network.ok()) << network.error().message;
  Command task;
  task.set_kind(Command::TASK);
  task.set_answer(static_cast<std::uint32_t>(Answer::second));
  task.set_count(kBatch4);
  task.set_values(std::string(static_cast<std::size_t>(kBatch4 * kBehindFirst), '\0'));
  for (const std::uint64_t request : {1u, 0u, 2u}) {
    task.set_request(request);
    const auto said = (*network)->answer(task, {.images = {}, .labels = {}, .count = kBatch4});
    ASSERT_TRUE(said.ok()) << said.error().message;
    const std::uint32_t exit = request > 0 ? 2 : 1;
    EXPECT_EQ(std::vector<std::uint32_t>(said->exits().begin(), said->exits().end()),
              std::vector<std::uint32_t>(kBatch4, exit))
        << request;
  }
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
    world.on_report([&](const Report& report) {
      if (report.kind != ReportKind::line || ++answers % every != 0) return;
      world.world().endpoint(0).send(0, job::kControlTag, all[answers / every % all.size()]);
    });
    const InferJob job = exits_job("auto", "hedged", thresholds);
    const RoleWorld::Outcome outcome =
        world.run([&](job::RoleContext& context) { return run_inference(job, context); });
    EXPECT_EQ(last_answers(outcome, "every " + std::to_string(every)), expected);
  }
  EXPECT_FALSE(check_switch(exits_job("auto", "hedged", thresholds), "end").ok());
}

/// A matrix that is made before the first exit is needed behind it.
Graph graph_with_shared_matrix() {
  GraphParts parts = exits_graph().parts();
  const std::map<std::string, Attribute> transposed = {{"transB", std::int64_t{1}}};
  parts.outputs = {"e1", "e2"};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"f"}},
                 {"fc1", "Gemm", transposed, {"f", "w1"}, {"a"}},
                 {"matrix", "Tanh", {}, {"w2"}, {"t"}},
                 {"fc2", "Gemm", transposed, {"a", "t"}, {"b"}},
                 {"exit1", "Gemm", transposed, {"b", "x1"}, {"e1"}},
                 {"fc3", "Gemm", transposed, {"b", "t"}, {"c"}},
                 {"exit2", "Gemm", transposed, {"c", "x2"}, {"e2"}}};
  std::erase_if(parts.initializers, [](const auto& entry) { return entry.first == "x3"; });
  return Graph::create(std::move(parts)).value();
}

TEST(TierExits, CheckTheJob) {
  const auto refused = [](const std::function<void(InferJob&)>& change) {
    InferJob job = exits_job("auto", "monitor", {0.5f, 0.5f});
    change(job);
    const Status status = check_tiers(job);
    EXPECT_FALSE(status.ok());
    if (status.ok()) return std::string();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    return status.error().message;
  };
  EXPECT_TRUE(check_tiers(exits_job("mapping", "none", {0.5f, 0.5f}, 2)).ok());
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(0)->set_exits(3); }),
            "tiers: exits: end devices cannot have 3 of the 2 early exits of network 'exits'");
  EXPECT_EQ(refused([](InferJob& job) {
              for (std::string& member : *job.mutable_members()) member = encode_onnx(small_graph());
            }),
            "tiers: exits: network 'small' has no early exits");
  EXPECT_EQ(refused([](InferJob& job) {
              for (std::string& member : *job.mutable_members()) member = encode_onnx(graph_with_shared_matrix());
              job.mutable_exit_thresholds()->RemoveLast();
            }),
            "tiers: exits: value 't' of type f32 and shape [12, 12] cannot cross an exit: only f32 with the samples in "
            "dimension 0 can");
  EXPECT_EQ(refused([](InferJob& job) { job.set_members(2, encode_onnx(small_graph())); }),
            "tiers: exits: cloud has another network than end; one lies over all tiers");
  EXPECT_EQ(refused([](InferJob& job) { job.mutable_tiers(2)->set_exits(2); }),
            "tiers: exits: are for the tiers end and edge, not for cloud, which computes the rest");
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
            "exit_thresholds: expected 2 numbers from 0 to 1, one for each early exit of the network, got 1");
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
