// A service of a cluster: requests go to a pipeline over its nodes, and survive what happens to them.
#include "mangrove/serve/cluster_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/base/eventually.h"
#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"
#include "tests/graph/small_networks.h"
#include "tests/serve/answers.h"
#include "tests/serve/served_networks.h"

#include "mangrove/base/random.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/serve/model_repository.h"

namespace mangrove::serve {
namespace {

using cluster::TestCluster;

/// For small_graph(): so many samples that differ with the seed.
InferenceRequest image_request(std::int64_t samples, std::uint64_t seed) {
  Tensor images(DType::f32, small_graph().inputs().front().second.shape.with_batch(samples));
  Random random(seed);
  for (float& value : images.as<float>()) value = static_cast<float>(random.normal());
  return request_of({{small_graph().inputs().front().first, images}});
}

/// What the network gives for that in one piece, sample by sample.
std::vector<float> expected(std::int64_t samples, std::uint64_t seed) {
  const auto whole = CompiledStage::create(small_graph(), 0, small_graph().nodes().size(), {8, "portable", 1});
  const InferenceRequest request = image_request(samples, seed);
  const std::span<const float> images = request.inputs.front().tensor.as<float>();
  const std::size_t one = images.size() / static_cast<std::size_t>(samples);
  std::vector<float> scores;
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
    std::ranges::copy(images.subspan(i * one, one), (*whole)->input(1).begin());
    const std::span<const float> row = (*whole)->run(1);
    scores.insert(scores.end(), row.begin(), row.end());
  }
  return scores;
}

std::vector<float> scores_of(const InferenceResponse& answer) {
  const std::span<const float> values = answer.outputs.at(0).tensor.as<float>();
  return {values.begin(), values.end()};
}

struct ClusterModelTest : ::testing::Test {
  /// nodes: 0: all.
  static cluster::JobSpec job_of(int stages, int nodes = 0) {
    cluster::JobSpec job;
    infer::InferJob& infer = *job.mutable_infer();
    infer.set_model(encode_onnx(small_graph()));
    infer.set_strategy("pipeline");
    infer.set_stages(stages);
    infer.set_micro_batch(8);
    infer.set_backend("portable");
    infer.set_answer_timeout_s(1);
    job.set_nodes(nodes);
    job.set_nodes_timeout_s(5);
    return job;
  }
  ClusterConnector connector() const {
    return [address = cluster.coordinator->address()] {
      return cluster::Client::connect(address, cluster::test_credentials(identity::Role::client, "gateway"), 0.5);
    };
  }
  std::shared_ptr<ClusterModel> start(int stages, ModelOptions options = {}) const {
    auto model = ClusterModel::start(small_graph(), "small", "1", job_of(stages), connector(), options);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return std::move(model).value();
  }

  /// Asks so many single samples, under their numbers as names.
  static void ask_all(Model& model, const Answers& answers, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed)
      model.infer(image_request(1, seed), answers.sink(std::to_string(seed)));
  }
  void expect_all(const Answers& answers, std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const auto answer = answers.wait(std::to_string(seed));
      ASSERT_TRUE(answer.ok()) << seed << ": " << answer.error().message;
      EXPECT_EQ(scores_of(*answer), expected(1, seed)) << seed;
    }
  }

  /// A server whose versions are jobs of so many nodes each, with version 1.
  std::unique_ptr<ModelRepository> serve_on(int nodes, Seconds ready_within) {
    EXPECT_TRUE(save_onnx(small_graph(), folder / "small.onnx").ok());
    auto repository = std::make_unique<ModelRepository>(
        [](const ModelOptions& options) { return load_onnx(options.file); },
        [this, nodes](const Graph& graph, const std::string& name, const std::string& version,
                      const ModelOptions& options) -> Result<std::shared_ptr<LoadedModel>> {
          MG_TRY(auto model, ClusterModel::start(graph, name, version, job_of(1, nodes), connector(), options));
          return std::shared_ptr<LoadedModel>(std::move(model));
        },
        ready_within);
    EXPECT_TRUE(repository->add("small", {.file = (folder / "small.onnx").string()}).ok());
    EXPECT_TRUE(repository->load("small").ok());
    EXPECT_TRUE(eventually([&] { return repository->is_ready(); }, 60));
    return repository;
  }
  static UpdateStatus decided(const ModelRepository& repository) {
    EXPECT_TRUE(eventually([&] { return repository.status("small")->update->is_over(); }, 120));
    return *repository.status("small")->update;
  }

  const mangrove::testing::TemporaryFolder folder;
  TestCluster cluster{3, TestCluster::kMisses, cluster::run_role};
};

TEST_F(ClusterModelTest, AnswersBitForBitWhatOneProcessDoes) {
  const auto model = start(2);
  EXPECT_FALSE(model->is_ready());
  const Answers answers;
  ask_all(*model, answers, 0, 40);
  expect_all(answers, 0, 40);
  EXPECT_TRUE(model->is_ready());
  const auto several = ask(*model, image_request(5, 77));
  ASSERT_TRUE(several.ok()) << several.error().message;
  EXPECT_EQ(scores_of(*several), expected(5, 77));
  EXPECT_EQ(model->statistics().inferences, 45u);
  EXPECT_EQ(model->statistics().success.count, 41u);
  model->close(10);
  EXPECT_EQ(ask(*model, image_request(1, 1)).code(), Code::unavailable);
  EXPECT_EQ(cluster.last_job(), "") << "the job ends with its service";
}

TEST_F(ClusterModelTest, ALostNodeCostsNoRequestItsAnswer) {
  const auto model = start(2);
  const Answers answers;
  ask_all(*model, answers, 0, 20);
  expect_all(answers, 0, 20);
  ask_all(*model, answers, 20, 100);
  cluster.nodes[1]->shutdown();
  ask_all(*model, answers, 120, 100);
  expect_all(answers, 20, 200);
}

TEST_F(ClusterModelTest, ARestartOfTheCoordinatorCostsNoRequestItsAnswer) {
  const auto model = start(2);
  const Answers answers;
  ask_all(*model, answers, 0, 20);
  expect_all(answers, 0, 20);
  ask_all(*model, answers, 20, 50);
  cluster.coordinator->shutdown();
  cluster.coordinator.reset();
  ask_all(*model, answers, 70, 50);
  cluster.start_coordinator();
  expect_all(answers, 20, 100);
}

TEST_F(ClusterModelTest, ARequestIsNotWaitedForLongerThanItsDeadline) {
  const auto model = start(1);
  cluster.coordinator->shutdown();
  const SteadyClock clock;
  InferenceRequest request = image_request(1, 1);
  request.deadline = clock.after(0.3);
  const auto late = ask(*model, std::move(request));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.code(), Code::deadline_exceeded) << late.error().message;
  request = image_request(1, 1);
  request.deadline = clock.now();
  EXPECT_EQ(ask(*model, std::move(request)).code(), Code::deadline_exceeded);
  EXPECT_EQ(model->statistics().fail.count, 2u);
}

TEST_F(ClusterModelTest, ANewVersionIsASecondJobThatTakesOverWithoutLosingARequest) {
  const auto repository = serve_on(1, 60);
  std::atomic<std::int64_t> of_first = 0, of_second = 0, lost = 0;
  std::jthread client([&](const std::stop_token& stop) {
    for (std::uint64_t seed = 0; !stop.stop_requested(); ++seed) {
      const auto answer = ask(**repository->find("small"), image_request(1, seed));
      if (!answer.ok() || scores_of(*answer) != expected(1, seed)) {
        ++lost;
        continue;
      }
      ++(answer->version == "1" ? of_first : of_second);
    }
  });
  const TrialRule rule{.share = 0.5, .requests = 20, .slack = 10};  // both are as fast
  ASSERT_TRUE(repository->update("small", encode_onnx(small_graph()), {.trial = rule}).ok());
  const UpdateStatus status = decided(*repository);
  EXPECT_EQ(status.state, UpdateStatus::kSwitched) << status.reason;
  const std::int64_t before = of_second;
  EXPECT_TRUE(eventually([&] { return of_second > before + 20; }, 60));
  client = {};
  EXPECT_EQ(lost, 0);
  EXPECT_GT(of_first, 0);
  ASSERT_EQ(repository->index().size(), 1u);
  EXPECT_EQ(repository->index()[0].version, "2");
}

TEST_F(ClusterModelTest, ANewVersionWithoutNodesIsRefused) {
  const auto repository = serve_on(3, 1);
  ASSERT_TRUE(repository->update("small", encode_onnx(small_graph()), {}).ok());
  const UpdateStatus status = decided(*repository);
  EXPECT_EQ(status.state, UpdateStatus::kRefused);
  EXPECT_NE(status.reason.find("was not ready"), std::string::npos) << status.reason;
  EXPECT_NE(status.reason.find("wait"), std::string::npos) << status.reason;
  const auto answer = ask(**repository->find("small"), image_request(1, 5));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->version, "1");
}

TEST_F(ClusterModelTest, TheQueueIsBounded) {
  const auto model = start(1, {.max_queue = 5});
  cluster.coordinator->shutdown();
  const Answers answers;
  ask_all(*model, answers, 0, 1000);
  std::size_t refused = 0;
  for (const std::string& name : answers.order()) {
    EXPECT_EQ(answers.wait(name).code(), Code::resource_exhausted);
    ++refused;
  }
  EXPECT_GE(refused, 1000u - 256 - 6) << "those on their way, and those that wait";
  model->close(0);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(answers.wait(std::to_string(i)).ok());
}

TEST_F(ClusterModelTest, WrongInputsAreRefusedBeforeTheyTravel) {
  const auto model = start(1);
  InferenceRequest wrong = image_request(1, 1);
  wrong.inputs[0].name = "nothing";
  EXPECT_EQ(ask(*model, std::move(wrong)).code(), Code::invalid_argument);
  EXPECT_EQ(ask(*model, image_request(4097, 1)).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mangrove::serve
