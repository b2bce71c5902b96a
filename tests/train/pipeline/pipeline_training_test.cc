// Pipelines against one device: the same numbers, in stages.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/train/paced_device.h"
#include "tests/train/pipeline/pipeline_job.h"

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/subset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/trainer.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/plan.h"
#include "mangrove/train/pipeline/stage.h"
#include "mangrove/train/strategy.h"

namespace mangrove::train {
namespace {

struct Synchronous : ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Synchronous, ::testing::Values("gpipe", "one_f_one_b"),
                         [](const auto& test) { return test.param; });

TEST_P(Synchronous, EqualsOneDevice) {
  for (const bool normalizes : {false, true}) {
    TrainJob job = pipeline_job(GetParam(), 55);  // the last batch has 7
    job.set_model(encode_onnx(residual_graph(normalizes)));
    job.set_weight_decay(1e-3f);
    const RoleWorld::Outcome one = on_one_device(job);
    ASSERT_TRUE(one.leader.ok()) << one.leader.error().message;
    for (const int stages : {1, 2, 4}) {
      for (const char* recompute : {"never", "always"}) {
        job.set_recompute(recompute);
        const RoleWorld::Outcome outcome = train(job, stages);
        const std::string where = std::to_string(stages) + " stages, recompute " + recompute;
        expect_complete(outcome, job, where);
        expect_equal(outcome, one, normalizes, where);
        EXPECT_EQ(json_number(outcome.result(), "steps"), 5) << where;
      }
    }
  }
}

TEST_P(Synchronous, EqualsOneDeviceWithEveryOptimizer) {
  for (const learn::OptimizerRow& row : learn::optimizers()) {
    TrainJob job = pipeline_job(GetParam(), 36);
    job.set_optimizer(std::string(row.name));
    job.set_learning_rate(0.01f);
    const RoleWorld::Outcome outcome = train(job, 3), one = on_one_device(job);
    ASSERT_TRUE(outcome.leader.ok() && one.leader.ok()) << row.name;
    EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(one)), 1e-5) << row.name;
  }
}

TEST_P(Synchronous, HoldsNoMoreMicroBatchesThanTheSchedule) {
  const RoleWorld::Outcome outcome = train(pipeline_job(GetParam()), 3);
  const auto stages = nlohmann::json::parse(outcome.result())["stages"];
  ASSERT_EQ(stages.size(), 3u);
  for (std::size_t s = 0; s < 3; ++s)
    EXPECT_EQ(stages[s]["in_flight"], GetParam() == "gpipe" ? 4 : 3 - static_cast<int>(s));
}

struct PipelineStrategy : ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Strategies, PipelineStrategy, ::testing::Values("gpipe", "one_f_one_b", "pipedream"),
                         [](const auto& test) { return test.param; });

TEST_P(PipelineStrategy, IsDeterministic) {
  TrainJob job = pipeline_job(GetParam());
  job.set_epochs(2);
  EXPECT_EQ(trained_parameters(train(job, 3)), trained_parameters(train(job, 3)));
}

TEST_P(PipelineStrategy, RecomputationChangesNoBit) {
  TrainJob job = pipeline_job(GetParam());
  job.set_model(encode_onnx(residual_graph(true)));
  job.set_recompute("never");
  const RoleWorld::Outcome kept = train(job, 3);
  job.set_recompute("always");
  const RoleWorld::Outcome recomputed = train(job, 3);
  EXPECT_EQ(trained_parameters(kept), trained_parameters(recomputed));
  EXPECT_EQ(states_of(kept), states_of(recomputed));
}

TEST_P(PipelineStrategy, Learns) {
  TrainJob job = pipeline_job(GetParam(), 600);
  job.set_epochs(4);
  const RoleWorld::Outcome outcome = train(job, 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_GT(json_number(outcome.result(), "accuracy"), 0.75) << outcome.result();
}

TEST_P(PipelineStrategy, CutsByMeasuredTimes) {
  TrainJob job = pipeline_job(GetParam());
  job.set_cut("measured");
  job.set_stages(3);
  const RoleWorld::Outcome outcome = train(job, 3);
  expect_complete(outcome, job, "measured");
  EXPECT_EQ(nlohmann::json::parse(outcome.result())["stages"].size(), 3u);
}

/// A node that computes so many operations a second, in a world of virtual time.
RoleWorld::Role node_of_speed(const TrainJob& job, double flops_per_s) {
  return [&job, flops_per_s](job::RoleContext& context) {
    PacedDevice device(context, [flops_per_s] { return flops_per_s; });
    job::RoleContext slow = device.context();
    return run_training(job, slow);
  };
}

TEST_P(PipelineStrategy, ASlowerNodeGetsASmallerStage) {
  TrainJob job = pipeline_job(GetParam());
  job.set_cut("measured");
  job.set_stages(3);
  RoleWorld world(4);
  world.use_virtual_time();
  for (const net::Rank rank : {1, 2, 3}) world.replace(rank, node_of_speed(job, rank == 2 ? 1e6 : 8e6));
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "unequal");
  const Graph graph = residual_graph(false);
  const std::vector<double> costs = computed_costs(graph, 3);
  std::map<std::string, double> work;
  const auto stages = nlohmann::json::parse(outcome.result())["stages"];
  ASSERT_EQ(stages.size(), 3u);
  for (const auto& stage : stages)
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
      for (const std::string name : stage["operators"])
        if (graph.nodes()[i].name == name) work[stage["node"]] += costs[i];
  EXPECT_LT(2 * work["rank-2"], work["rank-1"]);
  EXPECT_LT(2 * work["rank-2"], work["rank-3"]);
  if (GetParam() == "pipedream") return;
  EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(on_one_device(job))), 1e-5);
}

TEST_P(PipelineStrategy, ANodeThatComesLaterIsMeasuredToo) {
  TrainJob job = pipeline_job(GetParam());
  job.set_cut("measured");
  job.set_epochs(3);
  RoleWorld world(3);
  world.use_virtual_time();
  world.cancel_at_end();
  for (const net::Rank rank : {1, 2, 3}) world.replace(rank, node_of_speed(job, 8e6));
  bool has_come = false;
  world.on_report([&](const Report& report) {
    if (report.kind == ReportKind::epoch && !std::exchange(has_come, true)) world.add_worker();
  });
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "newcomer");
  EXPECT_TRUE(has_come);
}

TEST_P(PipelineStrategy, CutsWhereItIsTold) {
  TrainJob job = pipeline_job(GetParam());
  job.set_cut("behind(relu,conv2)");
  const RoleWorld::Outcome outcome = train(job, 4);  // one of them is spare
  expect_complete(outcome, job, "behind");
  const auto stages = nlohmann::json::parse(outcome.result())["stages"];
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0]["operators"], (std::vector<std::string>{"conv", "relu"}));
  EXPECT_EQ(stages[1]["operators"], (std::vector<std::string>{"pool", "conv2"}));
}

TEST_P(PipelineStrategy, GoesOnFromEveryCheckpointBitForBit) {
  TrainJob job = pipeline_job(GetParam());
  job.set_epochs(2);
  job.set_checkpoint_every_s(1e-9);
  const RoleWorld::Outcome whole = train(job, 3);
  ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
  ASSERT_EQ(whole.of_kind("checkpoint").size(), 6u);  // epochs of 2, 2 and 1 batches
  for (const Report& checkpoint : whole.of_kind("checkpoint")) {
    job.set_resume_from(checkpoint.attachment);
    const RoleWorld::Outcome resumed = train(job, 3);
    ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
    EXPECT_EQ(trained_parameters(resumed), trained_parameters(whole)) << checkpoint.json;
    EXPECT_EQ(json_number(resumed.result(), "steps"), 10) << checkpoint.json;
  }
}

TEST_P(PipelineStrategy, SurvivesTheDeathOfAStageAtAnyMessage) {
  TrainJob job = pipeline_job(GetParam(), 36);
  job.set_model(encode_onnx(small_graph()));
  if (GetParam() != "pipedream") job.set_micro_batches(2);
  for (int k = 0;; ++k) {
    RoleWorld world(4);
    world.use_virtual_time();
    world.die({.rank = 2, .at_send = k});
    const RoleWorld::Outcome outcome = train(job, world);
    if (outcome.sent[2] <= k) {
      EXPECT_GE(k, 10);
      break;
    }
    expect_complete(outcome, job, "dead before message " + std::to_string(k));
    // what was lost is done again with fewer stages: the numbers stay the same
    if (GetParam() == "pipedream") continue;
    EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(on_one_device(job))), 1e-5) << k;
  }
}

TEST_P(PipelineStrategy, ASpareNodeTakesTheLostStage) {
  TrainJob job = pipeline_job(GetParam());
  job.set_stages(2);
  RoleWorld world(4);
  world.use_virtual_time();
  world.die({.rank = 2, .at_send = 4});
  const RoleWorld::Outcome outcome = train(job, world);
  expect_complete(outcome, job, "spare");
  EXPECT_TRUE(outcome.has_event(R"("event":"stage_moved","stage":1,"from":"rank-2","to":"rank-3")"));
  const auto stages = nlohmann::json::parse(outcome.result())["stages"];
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[1]["node"], "rank-3");
}

TEST_P(PipelineStrategy, RefusesWhatItCannotDo) {
  const auto expect_refused = [&](void (*change)(TrainJob&), const std::string& why) {
    TrainJob job = pipeline_job(GetParam());
    change(job);
    const RoleWorld::Outcome outcome = train(job, 2);
    ASSERT_EQ(outcome.leader.code(), Code::invalid_argument) << why;
    EXPECT_NE(outcome.leader.error().message.find(why), std::string::npos) << outcome.leader.error().message;
  };
  expect_refused([](TrainJob& job) { job.set_codec("fp16"); }, "codec: not with strategy");
  expect_refused([](TrainJob& job) { job.set_clip_norm(1); }, "clip_norm: not with strategy");
  expect_refused([](TrainJob& job) { job.set_stages(3); }, "need as many nodes, got 2");
  expect_refused(
      [](TrainJob& job) {
        job.set_replicas(2);
        job.set_stages(2);
      },
      "replicas: not with strategy");
  expect_refused([](TrainJob& job) { job.set_cut("here"); }, "cut: must be measured");
  expect_refused([](TrainJob& job) { job.set_cut("behind(add,conv2)"); }, "behind node 'conv2'");
}

// What PipeDream says: with S stages, an update of stage s is made with gradients from S - 1 - s updates ago.
TEST(Pipedream, StalenessIsThatOfTheSchedule) {
  TrainJob job = pipeline_job("pipedream", 120);
  job.set_local_steps(10);  // one iteration
  const RoleWorld::Outcome outcome = train(job, 3);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const auto stages = nlohmann::json::parse(outcome.result())["stages"];
  EXPECT_EQ(stages[0]["staleness"], (std::vector<int>{1, 1, 8}));
  EXPECT_EQ(stages[1]["staleness"], (std::vector<int>{1, 9}));
  EXPECT_EQ(stages[2]["staleness"], (std::vector<int>{10}));
}

/// Plain gradient descent, each stage with the parameters that it has in the schedule: a gradient of mini-batch i is
/// that of the whole network with the parameters of stage s of S after max(0, i - (S - 1 - s)) updates.
std::vector<float> reference_of_pipedream(const TrainJob& job, std::size_t stages) {
  const Graph graph = parse_onnx(job.model()).value();
  const std::vector<StageDevice> devices(stages, {1, computed_profile(graph, job.batch())});
  const auto planned =
      plan_pipeline(graph, devices, {.micro_batch = job.batch(), .devices = {.least = stages, .most = stages}}).value();
  auto replica = learn::Replica::create(graph, {.batch = job.batch(), .backend = job.backend()}).value();
  const auto dataset = data::first_samples(data::open_dataset(job.data(), data::Split::train, {}).value(), job.limit());
  data::Loader loader(dataset, {.batch = job.batch(), .training = true, .seed = job.seed()});
  const auto order = data::epoch_order(dataset->size(), job.seed(), 0);
  std::vector<std::vector<float>> versions = {learn::flat_parameters(graph)};
  const auto batch = static_cast<std::size_t>(job.batch());
  for (std::size_t i = 0; i * batch < order.size(); ++i) {
    std::vector<float> used(versions[0].size()), gradient(used.size());
    std::size_t begin = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      const std::vector<float>& version = versions[i - std::min(i, stages - 1 - s)];
      const std::size_t count = stage_sizes(graph, planned[s].range)->parameters;
      std::copy_n(version.begin() + static_cast<std::ptrdiff_t>(begin), count,
                  used.begin() + static_cast<std::ptrdiff_t>(begin));
      begin += count;
    }
    replica->write_parameters(used);
    loader.request({order.begin() + static_cast<std::ptrdiff_t>(i * batch),
                    order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), (i + 1) * batch))});
    const data::Batch samples = loader.next().value();
    replica->compute_gradients(samples, 1.0f / static_cast<float>(samples.count));
    replica->read_gradients(gradient);
    std::vector<float> next = versions.back();
    for (std::size_t k = 0; k < next.size(); ++k) next[k] -= job.learning_rate() * gradient[k];
    versions.push_back(std::move(next));
  }
  return versions.back();
}

TEST(Pipedream, EqualsTheReferenceWithTheScheduleOfVersions) {
  for (const int stages : {2, 3}) {
    TrainJob job = pipeline_job("pipedream", 115);
    job.set_local_steps(10);  // one iteration
    job.set_optimizer("sgd");
    const RoleWorld::Outcome outcome = train(job, stages);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    const std::vector<float> expected = reference_of_pipedream(job, static_cast<std::size_t>(stages));
    EXPECT_LT(relative_difference(trained_parameters(outcome), expected), 1e-5) << stages;
    EXPECT_GT(relative_difference(trained_parameters(outcome), trained_parameters(on_one_device(job))), 1e-3);
  }
}

TEST(Pipedream, HasNoReplicas) {
  TrainJob job = pipeline_job("pipedream");
  job.set_replicas(0);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_EQ(outcome.leader.code(), Code::invalid_argument);
  EXPECT_NE(outcome.leader.error().message.find("replicas: not with strategy 'pipedream'"), std::string::npos);
}

TEST(Pipedream, OfOneStageIsPlainTraining) {
  const TrainJob job = pipeline_job("pipedream");
  EXPECT_LT(relative_difference(trained_parameters(train(job, 1)), trained_parameters(on_one_device(job))), 1e-5);
}

}  // namespace
}  // namespace mangrove::train
