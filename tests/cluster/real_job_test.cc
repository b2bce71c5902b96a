// The real strategies, on a coordinator and nodes of this process: what the scripted roles of the other tests stand
// for.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::cluster {
namespace {

using nlohmann::json;

constexpr std::int64_t kPixels = 28 * 28;
constexpr std::int64_t kClasses = 10;

/// Softmax regression: one inner product, and so two operators.
std::string model_file() {
  Random random(1);
  Tensor weight(DType::f32, Shape{kClasses, kPixels});
  for (float& w : weight.as<float>()) w = static_cast<float>(0.01 * random.normal());
  mangrove::Node flatten{
      .name = "flatten", .op = "Flatten", .attributes = {}, .inputs = {"input"}, .outputs = {"flat"}};
  mangrove::Node gemm{.name = "fc",
                      .op = "Gemm",
                      .attributes = {{"transB", std::int64_t{1}}},
                      .inputs = {"flat", "weight", "bias"},
                      .outputs = {"logits"}};
  GraphParts parts;
  parts.name = "softmax-regression";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {flatten, gemm};
  parts.initializers.emplace("weight", weight);
  parts.initializers.emplace("bias", Tensor(DType::f32, Shape{kClasses}));
  const Result<Graph> graph = Graph::create(std::move(parts));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return encode_onnx(*graph);
}

int count_events(RunningJob& job, const std::string& name) {
  int count = 0;
  for (const Report& event : job.reports("event")) count += json::parse(event.json)["event"] == name ? 1 : 0;
  return count;
}

JobSpec training_job() {
  JobSpec train;
  train.mutable_train()->set_model(model_file());
  train.mutable_train()->set_data("glyphs");
  train.mutable_train()->set_strategy("parameter_server");
  train.mutable_train()->set_epochs(2);
  train.mutable_train()->set_batch(32);
  train.mutable_train()->set_learning_rate(0.1F);
  train.mutable_train()->set_momentum(0.9F);
  train.mutable_train()->set_weight_decay(0);
  train.mutable_train()->set_schedule("constant");
  train.mutable_train()->set_warmup_steps(0);
  train.mutable_train()->set_limit(2000);
  return train;
}

TEST(RealJob, TrainsAndClassifiesOnTwoNodes) {
  const TestCluster cluster(2, TestCluster::kMisses, run_role);
  RunningJob training(cluster, training_job());
  const Status trained = training.wait();
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  const Report result = training.reports("result").at(0);
  EXPECT_GT(json::parse(result.json)["accuracy"], 0.3) << "ten classes, so 0.1 is chance";
  EXPECT_EQ(json::parse(result.json)["nodes"].size(), 2u);
  EXPECT_TRUE(training.has("checkpoint"));

  JobSpec infer;
  infer.mutable_infer()->set_model(result.attachment);
  infer.mutable_infer()->set_data("glyphs");
  infer.mutable_infer()->set_strategy("pipeline");
  infer.mutable_infer()->set_stages(2);
  infer.mutable_infer()->set_micro_batch(50);
  infer.mutable_infer()->set_limit(1000);
  RunningJob inference(cluster, infer);
  const Status classified = inference.wait();
  ASSERT_TRUE(classified.ok()) << classified.error().message;
  const json answers = json::parse(inference.reports("result").at(0).json);
  EXPECT_EQ(answers["images"], 1000);
  EXPECT_EQ(answers["agreement"], 1.0);
  EXPECT_EQ(answers["lost"], 0);
}

// Their parameters stay apart, though the ranks and tags of their messages are the same.
TEST(RealJob, TwoTrainingsOnTheSameNodesGiveBitForBitWhatEachGivesAlone) {
  const TestCluster cluster(2, TestCluster::kMisses, run_role);
  JobSpec first = training_job(), second = training_job();
  second.mutable_train()->set_learning_rate(0.02F);
  for (JobSpec* job : {&first, &second}) job->set_share(0.5);
  const auto model_of = [](RunningJob& job) {
    const Status status = job.wait();
    EXPECT_TRUE(status.ok()) << status.error().message;
    const std::vector<Report> results = job.reports("result");
    return results.empty() ? std::string() : results.front().attachment;
  };
  std::vector<std::string> alone, together;
  for (const JobSpec& job : {first, second}) {
    RunningJob running(cluster, job);
    alone.push_back(model_of(running));
  }
  RunningJob one(cluster, first), other(cluster, second);
  together.push_back(model_of(one));
  together.push_back(model_of(other));
  ASSERT_FALSE(alone[0].empty());
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_EQ(together, alone);
  for (RunningJob* job : {&one, &other}) EXPECT_EQ(count_events(*job, "queued"), 0) << "none waits for the other";
}

TEST(RealJob, TrainsOnWhileAJobOfHigherPriorityHasOneOfItsNodes) {
  const TestCluster cluster(2, TestCluster::kMisses, run_role);
  JobSpec train = training_job();
  train.mutable_train()->set_epochs(6);
  RunningJob training(cluster, train);
  ASSERT_TRUE(eventually([&] { return training.has("epoch"); }));
  JobSpec infer;
  infer.mutable_infer()->set_model(model_file());
  infer.mutable_infer()->set_data("glyphs");
  infer.mutable_infer()->set_strategy("pipeline");
  infer.mutable_infer()->set_stages(1);
  infer.mutable_infer()->set_micro_batch(50);
  infer.mutable_infer()->set_limit(1000);
  infer.set_nodes(1);
  infer.set_priority(1);
  RunningJob inference(cluster, infer);
  const Status classified = inference.wait();
  ASSERT_TRUE(classified.ok()) << classified.error().message;
  const Status trained = training.wait();
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  EXPECT_GT(json::parse(training.reports("result").at(0).json)["accuracy"], 0.3);
  EXPECT_EQ(count_events(training, "node_given_up"), 1);
}

TEST(RealJob, DataThatIsMissingOnEveryNodeIsNamed) {
  const TestCluster cluster(1, TestCluster::kMisses, run_role);
  JobSpec job;
  job.mutable_train()->set_model(model_file());
  job.mutable_train()->set_data("mnist");  // the nodes of a test have no data folder
  job.mutable_train()->set_strategy("parameter_server");
  job.mutable_train()->set_epochs(1);
  job.mutable_train()->set_batch(32);
  job.mutable_train()->set_learning_rate(0.1F);
  job.mutable_train()->set_schedule("constant");
  RunningJob training(cluster, job);
  const Status status = training.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.error().message.find("node-1"), std::string::npos) << status.error().message;
}

TEST(RealJob, FilesOfANodeThatItsOwnerHasNotOpenedAreNotReadForAJob) {
  const testing::TemporaryFolder folder;
  fs::create_directories(folder / "data");
  std::ofstream(folder / "shadow") << "root:hunter2:20228:0:99999:7:::\n";
  TestCluster cluster(0, TestCluster::kMisses, run_role);
  cluster.add_node("node-1", data::DataFolder::confined(folder / "data", {}));
  for (const std::string& data : {"csv:" + (folder / "shadow").string(), std::string("csv:../shadow")}) {
    JobSpec train;
    train.mutable_train()->set_model(model_file());
    train.mutable_train()->set_data(data);
    JobSpec infer;
    infer.mutable_infer()->set_model(model_file());
    infer.mutable_infer()->set_data(data);
    for (const JobSpec& job : {train, infer}) {
      RunningJob running(cluster, job);
      const Status status = running.wait();
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.code(), Code::permission_denied) << status.error().message;
      EXPECT_NE(status.error().message.find("is not open to jobs"), std::string::npos) << status.error().message;
      EXPECT_EQ(status.error().message.find("hunter2"), std::string::npos) << status.error().message;
    }
  }
}

TEST(RealJob, AJobOfNeitherKindIsRefused) {
  const TestCluster cluster(1, TestCluster::kMisses, run_role);
  RunningJob job(cluster, JobSpec());
  EXPECT_EQ(job.wait().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::cluster
