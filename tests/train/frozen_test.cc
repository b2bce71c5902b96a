#include "mangrove/train/frozen.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

/// The job with all that a node of the network needs frozen.
TrainJob frozen_job(TrainJob job, const Graph& network, const std::string& node) {
  const auto halves = split_behind(network, node);
  MG_CHECK_MSG(halves.ok(), halves.error().message);
  job.set_frozen(encode_onnx(halves->front));
  job.set_model(encode_onnx(halves->back));
  return job;
}

/// small_job() that trains the last layer of a convolutional network.
TrainJob head_job(std::int64_t samples) {
  return frozen_job(small_job(samples), convolutional_graph(10), "flatten");
}

Graph trained_graph(const RoleWorld::Outcome& outcome) {
  Result<Graph> graph = parse_onnx(outcome.last("result").attachment);
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

bool equal_tensors(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

/// Which initializers of the network a run has changed.
std::vector<std::string> changed(const Graph& before, const Graph& after) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : before.initializers())
    if (!equal_tensors(tensor, after.initializers().at(name))) names.push_back(name);
  return names;
}

const std::vector<std::string> kHead = {"fc.b", "fc.w"};

TEST(Frozen, TheHeadLearnsAndTheRestStaysBitForBit) {
  TrainJob job = head_job(400);
  job.set_epochs(4);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const Graph before = convolutional_graph(10), after = trained_graph(outcome);
  EXPECT_EQ(after.nodes().size(), before.nodes().size());
  EXPECT_EQ(after.inputs(), before.inputs());
  EXPECT_EQ(changed(before, after), kHead);
  EXPECT_GT(json_number(outcome.result(), "accuracy"), 0.6);
  EXPECT_NE(after.metadata().find("mangrove.classes"), after.metadata().end());
}

TEST(Frozen, EveryStrategyLeavesItAsItIs) {
  for (const StrategyCase& strategy : every_strategy()) {
    const bool divides = strategy_of(job_of(strategy, 96)).divides_layers;
    const Graph network = convolutional_graph(10, divides ? 12 : 0);
    const TrainJob job = frozen_job(job_of(strategy, 96), network, "flatten");
    const RoleWorld::Outcome outcome = train(job, 3);
    expect_complete(outcome, job, strategy.name);
    std::vector<std::string> head = kHead;
    if (divides) head.insert(head.end(), {"hidden.b", "hidden.w"});
    if (outcome.leader.ok()) {
      EXPECT_EQ(changed(network, trained_graph(outcome)), head) << strategy.name;
    }
  }
}

TEST(Frozen, ItIsNotExchanged) {
  const TrainJob job = head_job(64);
  const RoleWorld::Outcome outcome = train(job, 2);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  const auto exchange = nlohmann::json::parse(outcome.result())["exchange"];
  for (const char* way : {"uplink", "downlink"})
    EXPECT_EQ(exchange[way]["float_bytes"], exchange[way]["messages"].get<int>() * 4 * (10 * 288 + 10)) << way;
}

TEST(Frozen, BatchNormalizationGoesByItsRunningStatistics) {
  const RoleWorld::Outcome outcome = train(frozen_job(small_job(64), normalized_graph(), "tanh"), 1);
  ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
  EXPECT_EQ(changed(normalized_graph(), trained_graph(outcome)), (std::vector<std::string>{"b2", "w2"}));
}

TEST(Frozen, GradientsAreThoseOfTheWholeNetwork) {
  TrainJob whole = small_job(8), head = head_job(8);  // one step of plain SGD
  whole.set_model(encode_onnx(convolutional_graph(10)));
  const Graph all = trained_graph(train(whole, 1)), last = trained_graph(train(head, 1));
  for (const std::string& name : kHead) {
    const auto a = all.initializers().at(name).as<float>(), b = last.initializers().at(name).as<float>();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << name;
  }
}

TEST(Frozen, KeptFeaturesGiveTheSameBitForBit) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const char* augment : {"", "rotation:20,normalise"}) {
    TrainJob job = head_job(120);
    job.set_epochs(3);
    job.set_augment(augment);
    const RoleWorld::Outcome computed = train(job, 2);
    ASSERT_TRUE(computed.leader.ok()) << computed.leader.error().message;
    for (const Bytes cache : {60'000, 64'000'000}) {  // some of them, all of them
      job.set_sample_cache(cache);
      const RoleWorld::Outcome kept = train(job, 2);
      ASSERT_TRUE(kept.leader.ok()) << kept.leader.error().message;
      EXPECT_EQ(trained_parameters(kept), trained_parameters(computed)) << augment << " " << cache;
    }
  }
}

TEST(Frozen, TwoWorkersAreOneWithTheBatchOfBoth) {
  TrainJob two = head_job(128), one = head_job(128);
  one.set_batch(2 * two.batch());
  const RoleWorld::Outcome of_two = train(two, 2), of_one = train(one, 1);
  ASSERT_TRUE(of_two.leader.ok()) << of_two.leader.error().message;
  ASSERT_TRUE(of_one.leader.ok()) << of_one.leader.error().message;
  EXPECT_LT(relative_difference(trained_parameters(of_two), trained_parameters(of_one)), 1e-5);
}

TEST(Frozen, ResumedFromAnyCheckpointItEndsBitEqual) {
  TrainJob job = head_job(48);
  job.set_epochs(2);
  job.set_optimizer("adam");
  job.set_beta1(0.9f);
  job.set_beta2(0.999f);
  job.set_epsilon(1e-8f);
  job.set_sample_cache(64'000'000);
  job.set_checkpoint_every_s(1e-9);  // after every step
  const RoleWorld::Outcome whole = train(job, 2);
  ASSERT_TRUE(whole.leader.ok()) << whole.leader.error().message;
  const auto checkpoints = whole.of_kind("checkpoint");
  ASSERT_EQ(checkpoints.size(), 6u);
  for (const Report& checkpoint : checkpoints) {
    job.set_resume_from(checkpoint.attachment);
    const RoleWorld::Outcome resumed = train(job, 2);
    ASSERT_TRUE(resumed.leader.ok()) << resumed.leader.error().message;
    EXPECT_EQ(trained_parameters(resumed), trained_parameters(whole)) << checkpoint.json;
  }
  TrainJob other = frozen_job(job, convolutional_graph(10), "pool");
  const RoleWorld::Outcome refused = train(other, 2);
  ASSERT_FALSE(refused.leader.ok());
  EXPECT_NE(refused.leader.error().message.find("frozen is '"), std::string::npos) << refused.leader.error().message;
}

TEST(Frozen, WhatDoesNotFitIsRefused) {
  TrainJob job = head_job(16);
  job.set_frozen("nonsense");
  EXPECT_EQ(check_job(job).code(), Code::data_loss);
  job.set_frozen(encode_onnx(small_graph()));
  EXPECT_EQ(check_job(job).code(), Code::invalid_argument);
  job = head_job(16);
  job.set_augment("mixup:0.2");
  const RoleWorld::Outcome outcome = train(job, 1);
  ASSERT_FALSE(outcome.leader.ok());
  EXPECT_NE(outcome.leader.error().message.find("mixup is not for a network with a frozen part"), std::string::npos)
      << outcome.leader.error().message;
}

}  // namespace
}  // namespace mangrove::train
