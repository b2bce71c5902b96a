// A new version beside the old one, while clients ask all the time: no request is lost, and the better version stays.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "tests/base/eventually.h"
#include "tests/base/temporary_folder.h"
#include "tests/serve/served_networks.h"

#include "mangrove/base/file.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/serve/model_repository.h"

namespace mangrove::serve {
namespace {

/// x [N, 3] -> y [N, 3], x times `factor`.
Graph times_graph(float factor, const std::string& output = "y") {
  GraphParts parts;
  parts.name = "times";
  parts.inputs = {{"x", {DType::f32, {kBatch, 3}}}};
  parts.outputs = {output};
  parts.nodes = {{"mul", "Mul", {}, {"x", "factor"}, {output}}};
  parts.initializers = {{"factor", Tensor::of<float>({3}, {factor, factor, factor})}};
  return *Graph::create(std::move(parts));
}

/// Answers as its network does, but each time as long after as a test says.
class SlowModel final : public LoadedModel {
 public:
  SlowModel(std::shared_ptr<LoadedModel> inner, const std::atomic<double>& delay)
      : inner_(std::move(inner)), delay_(delay) {}
  const ModelMetadata& metadata() const override { return inner_->metadata(); }
  void infer(InferenceRequest request, AnswerSink answer) override {
    inner_->infer(std::move(request), [this, answer = std::move(answer)](Result<InferenceResponse> result) {
      const SteadyClock clock;
      if (delay_ > 0) SteadyClock().sleep_until(clock.after(delay_));
      answer(std::move(result));
    });
  }
  ModelStatistics statistics() const override { return inner_->statistics(); }
  bool is_ready() const override { return inner_->is_ready(); }
  std::string problem() const override { return ""; }
  void close() override { inner_->close(); }

 private:
  const std::shared_ptr<LoadedModel> inner_;
  const std::atomic<double>& delay_;
};

struct ModelUpdate : ::testing::Test {
  void SetUp() override {
    ASSERT_TRUE(save_onnx(times_graph(2), folder / "m.onnx").ok());
    ASSERT_TRUE(repository->add("m", options()).ok());
    ASSERT_TRUE(repository->load("m").ok());
  }
  ModelOptions options() const { return {.file = (folder / "m.onnx").string(), .backend = "portable", .max_wait = 0}; }

  /// Four clients that ask until the test ends, and count what they get.
  void begin_asking() {
    for (int i = 0; i < 4; ++i)
      clients.emplace_back([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) ask_once();
      });
  }
  void ask_once() {
    const auto model = repository->find("m");
    if (!model.ok()) {
      ++lost;
      return;
    }
    const auto answer = ask(**model, request_of({{"x", Tensor::of<float>({1, 3}, {1, 1, 1})}}));
    if (!answer.ok()) {
      ++lost;
      return;
    }
    ++answered;
    const float value = answer->outputs[0].tensor.as<float>()[0];
    if (answer->version == "1" && value == 2) ++of_first;
    if (answer->version == "2" && value == 3) ++of_second;
  }
  void end_asking() {
    clients.clear();
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(answered, of_first + of_second) << "each answer is that of its version";
  }

  Result<std::int64_t> update(const Graph& graph, std::optional<TrialRule> rule) const {
    return repository->update("m", encode_onnx(graph), {.trial = rule});
  }
  /// Of the update, once it is decided.
  UpdateStatus decided() const {
    UpdateStatus status;
    EXPECT_TRUE(eventually(
        [&] {
          status = *repository->status("m")->update;
          return status.is_over();
        },
        60));
    return status;
  }

  const mangrove::testing::TemporaryFolder folder;
  std::atomic<double> delay_of_second = 0;
  std::unique_ptr<ModelRepository> repository = std::make_unique<ModelRepository>(
      [](const ModelOptions& options) { return load_onnx(options.file); },
      [this](const Graph& graph, const std::string& name, const std::string& version,
             const ModelOptions& options) -> Result<std::shared_ptr<LoadedModel>> {
        MG_TRY(auto model, make_engine_model(graph, name, version, options));
        if (version != "2") return model;
        return std::shared_ptr<LoadedModel>(std::make_shared<SlowModel>(std::move(model), delay_of_second));
      });
  std::atomic<std::int64_t> answered = 0, lost = 0, of_first = 0, of_second = 0;
  std::vector<std::jthread> clients;
};

TEST_F(ModelUpdate, WithoutATrialTheNewVersionTakesOverAtOnce) {
  begin_asking();
  const auto number = update(times_graph(3), std::nullopt);
  ASSERT_TRUE(number.ok()) << number.error().message;
  EXPECT_EQ(*number, 2);
  EXPECT_EQ(decided().state, UpdateStatus::kSwitched);
  ASSERT_TRUE(eventually([&] { return of_second > 20; }));
  end_asking();
  const ServiceStatus status = repository->status("m").value();
  ASSERT_EQ(status.versions.size(), 1u);
  EXPECT_EQ(status.versions[0].version, "2");
  EXPECT_EQ(status.versions[0].share, 1);
  EXPECT_GT(status.versions[0].p99, 0);
}

TEST_F(ModelUpdate, AGoodVersionTakesOverAfterItsTrial) {
  begin_asking();
  ASSERT_TRUE(update(times_graph(3), TrialRule{.share = 0.2, .requests = 100}).ok());
  const UpdateStatus status = decided();
  EXPECT_EQ(status.state, UpdateStatus::kSwitched) << status.reason;
  EXPECT_GE(status.fresh.requests, 100);
  EXPECT_GT(status.old.requests, status.fresh.requests) << "the old one had four fifths";
  const std::int64_t first = of_first;
  ASSERT_TRUE(eventually([&] { return of_second > 200; }));
  end_asking();
  EXPECT_LE(of_first, first + 4) << "only those that were on their way";
}

TEST_F(ModelUpdate, ASlowVersionGoesBack) {
  delay_of_second = 0.02;
  begin_asking();
  ASSERT_TRUE(update(times_graph(3), TrialRule{.share = 0.2, .requests = 40}).ok());
  const UpdateStatus status = decided();
  EXPECT_EQ(status.state, UpdateStatus::kWentBack);
  EXPECT_NE(status.reason.find("slower"), std::string::npos) << status.reason;
  end_asking();
  EXPECT_GT(of_second, 0);
  EXPECT_EQ(repository->find("m").value()->metadata().version, "1");
  EXPECT_EQ(repository->index().size(), 1u);
}

TEST_F(ModelUpdate, AFailingVersionGoesBackAndItsRequestsAreAnsweredByTheOldOne) {
  begin_asking();
  const float none = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(update(times_graph(none), TrialRule{.share = 0.5, .requests = 100}).ok());
  const UpdateStatus status = decided();
  EXPECT_EQ(status.state, UpdateStatus::kWentBack);
  EXPECT_NE(status.reason.find("fails more often"), std::string::npos) << status.reason;
  EXPECT_EQ(status.fresh.failures, status.fresh.requests);
  end_asking();
  EXPECT_EQ(answered, of_first) << "no client got an answer of the failing version";
}

TEST_F(ModelUpdate, TooFewRequestsLeaveTheOldVersion) {
  ASSERT_TRUE(update(times_graph(3), TrialRule{.share = 0.5, .requests = 100, .at_most = 0.05}).ok());
  const UpdateStatus status = decided();
  EXPECT_EQ(status.state, UpdateStatus::kWentBack);
  EXPECT_NE(status.reason.find("too few requests"), std::string::npos) << status.reason;
}

TEST_F(ModelUpdate, WhatIsNoSuchNetworkIsRefused) {
  const auto broken = repository->update("m", "no network", {});
  EXPECT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("cannot be read"), std::string::npos) << broken.error().message;
  const auto other = update(times_graph(3, "z"), std::nullopt);
  EXPECT_EQ(other.code(), Code::failed_precondition);
  EXPECT_NE(other.error().message.find("'z'"), std::string::npos) << other.error().message;
  EXPECT_EQ(repository->update("n", "", {}).code(), Code::not_found);
  EXPECT_FALSE(repository->status("m")->update);
  EXPECT_EQ(repository->find("m").value()->metadata().version, "1");
  ASSERT_TRUE(update(times_graph(3), std::nullopt).ok()) << "it may be updated all the same";
  EXPECT_EQ(decided().state, UpdateStatus::kSwitched);
}

TEST_F(ModelUpdate, ARefusedUpdateOfAModelThatWasUnloadedLeavesTheServerReady) {
  ASSERT_TRUE(repository->unload("m").ok());
  ASSERT_TRUE(repository->is_ready()) << "nobody wants the model";
  EXPECT_EQ(update(times_graph(3), std::nullopt).code(), Code::failed_precondition);
  EXPECT_TRUE(repository->is_ready());
  ASSERT_TRUE(repository->load("m").ok()) << "it may be loaded all the same";
}

TEST_F(ModelUpdate, EachUpdateHasAVersionOfItsOwn) {
  const TrialRule without_requests{.share = 0.5, .requests = 100, .at_most = 0.05};
  EXPECT_EQ(update(times_graph(3), without_requests).value(), 2);
  EXPECT_EQ(decided().state, UpdateStatus::kWentBack);
  EXPECT_EQ(update(times_graph(3), std::nullopt).value(), 3);
  EXPECT_EQ(decided().state, UpdateStatus::kSwitched);
  EXPECT_EQ(repository->find("m").value()->metadata().version, "3");
}

TEST_F(ModelUpdate, NothingElseChangesTheModelMeanwhile) {
  ASSERT_TRUE(update(times_graph(3), TrialRule{.share = 0.5, .requests = 100}).ok());
  EXPECT_EQ(repository->load("m").code(), Code::unavailable);
  EXPECT_EQ(repository->unload("m").code(), Code::unavailable);
  EXPECT_EQ(update(times_graph(4), std::nullopt).code(), Code::unavailable);
}

TEST_F(ModelUpdate, TheEndOfTheServerEndsATrial) {
  begin_asking();
  ASSERT_TRUE(update(times_graph(3), TrialRule{.share = 0.5, .requests = 100'000}).ok());
  ASSERT_TRUE(eventually([&] { return repository->status("m")->update->fresh.requests > 0; }));
  end_asking();
  repository.reset();
}

TEST_F(ModelUpdate, AModelWithAFolderKeepsItsNewVersionThere) {
  fs::create_directories(folder / "models/n/1");
  ASSERT_TRUE(save_onnx(times_graph(2), folder / "models/n/1/model.onnx").ok());
  ASSERT_TRUE(repository->add_folder(folder / "models", options()).ok());
  ASSERT_TRUE(repository->load("n").ok());
  const std::string network = encode_onnx(times_graph(3));
  ASSERT_TRUE(repository->update("n", network, {}).ok());
  ASSERT_TRUE(eventually([&] { return repository->status("n")->update->is_over(); }));
  EXPECT_EQ(repository->status("n")->update->state, UpdateStatus::kSwitched);
  EXPECT_EQ(read_file(folder / "models/n/2/model.onnx").value(), network);
  EXPECT_TRUE(repository->load("n").ok());
  EXPECT_EQ(repository->find("n").value()->metadata().version, "2") << "the file is the version that runs";
}

}  // namespace
}  // namespace mangrove::serve
