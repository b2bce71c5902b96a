#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/models.h"

namespace mangrove::serve {

/// A model that answers as a test says, on the thread that asks.
class FakeModel final : public Model {
 public:
  using Answer = std::function<void(InferenceRequest request, AnswerSink answer)>;
  FakeModel(ModelMetadata metadata, Answer answer) : metadata_(std::move(metadata)), answer_(std::move(answer)) {}

  const ModelMetadata& metadata() const override { return metadata_; }
  void infer(InferenceRequest request, AnswerSink answer) override { answer_(std::move(request), std::move(answer)); }
  Result<std::unique_ptr<ExitRun>> begin_exits(const InferenceRequest& request,
                                               const std::string& thresholds) override {
    if (!exits) return Model::begin_exits(request, thresholds);
    return exits(thresholds);
  }
  ModelStatistics statistics() const override { return counts; }

  ModelStatistics counts;  // set before the model is asked for them
  /// The same; empty: the model has no exits.
  std::function<Result<std::unique_ptr<ExitRun>>(const std::string& thresholds)> exits;

 private:
  const ModelMetadata metadata_;
  const Answer answer_;
};

/// input x [N, 2] f32 -> output y [N, 2] f32.
inline ModelMetadata pair_metadata(const std::string& name = "m", const std::string& version = "1") {
  return {.name = name,
          .version = version,
          .platform = "onnx_mangrove",
          .inputs = {{"x", DType::f32, {-1, 2}}},
          .outputs = {{"y", DType::f32, {-1, 2}}},
          .labels = {},
          .max_batch = 16,
          .properties = {{"author", "ann"}}};
}

/// scores = the values of pixels, of images [N, 1, 1, 3].
inline ModelMetadata image_metadata() {
  return {.name = "colours",
          .version = "1",
          .platform = "onnx_mangrove",
          .inputs = {{"image", DType::f32, {-1, 1, 1, 3}}},
          .outputs = {{"scores", DType::f32, {-1, 3}}},
          .labels = {"red", "green"},
          .max_batch = 16,
          .properties = {{"mangrove.mean", "0.5"}, {"mangrove.std", "0.25"}}};
}

/// Answers with the inputs, under the names of the outputs.
inline void echo(InferenceRequest request, const AnswerSink& answer) {
  InferenceResponse response{.version = "1", .outputs = {}};
  for (NamedTensor& input : request.inputs) response.outputs.push_back({"y", std::move(input.tensor)});
  answer(std::move(response));
}

/// Refuses every request with this error.
inline FakeModel::Answer refuse_with(Code code, const std::string& message) {
  return [code, message](const InferenceRequest&, const AnswerSink& answer) { answer(make_error(code, message)); };
}

/// Models that a test has put there. threads: any thread may call any method, once they are there.
class FakeModels final : public Models {
 public:
  std::shared_ptr<FakeModel> add(ModelMetadata metadata, FakeModel::Answer answer = &echo) {
    const std::string name = metadata.name;
    auto model = std::make_shared<FakeModel>(std::move(metadata), std::move(answer));
    models_[name].push_back(model);
    return model;
  }
  Result<std::shared_ptr<Model>> find(const std::string& name, const std::string& version) const override {
    const auto found = models_.find(name);
    if (found == models_.end()) return make_error(Code::not_found, "unknown model '" + name + "'");
    for (auto model = found->second.rbegin(); model != found->second.rend(); ++model)
      if (version.empty() || (*model)->metadata().version == version) return std::shared_ptr<Model>(*model);
    return make_error(Code::not_found, "model '" + name + "' has no version '" + version + "'");
  }
  std::vector<IndexEntry> index() const override {
    std::vector<IndexEntry> entries;
    for (const auto& [name, versions] : models_)
      for (const auto& model : versions) entries.push_back({name, model->metadata().version, "READY", ""});
    entries.push_back({"broken", "1", "UNAVAILABLE", "the file is damaged"});
    return entries;
  }
  bool is_ready() const override { return ready; }
  Status load(const std::string& name, const std::string& owner) override {
    return change("load " + name + (owner.empty() ? "" : " for " + owner));
  }
  Status unload(const std::string& name) override { return change("unload " + name); }
  Result<std::int64_t> update(const std::string& name, const std::string& network,
                              const UpdateOptions& options) override {
    MG_RETURN_IF_ERROR(change("update " + name + " " + network +
                              (options.trial ? " " + std::to_string(options.trial->requests) : "") +
                              (options.owner.empty() ? "" : " for " + options.owner)));
    return 2;
  }
  Result<ServiceStatus> status(const std::string& name) const override {
    if (!models_.contains(name)) return make_error(Code::not_found, "unknown model '" + name + "'");
    return ServiceStatus{.name = name,
                         .versions = {{.version = "1", .state = "READY", .reason = {}, .share = 1}},
                         .update = std::nullopt};
  }

  std::vector<std::string> changes() const {
    const MutexLock lock(mutex_);
    return changes_;
  }

  bool ready = true;

 private:
  Status change(const std::string& what) {
    const MutexLock lock(mutex_);
    changes_.push_back(what);
    return {};
  }

  std::map<std::string, std::vector<std::shared_ptr<FakeModel>>> models_;
  mutable Mutex mutex_;
  std::vector<std::string> changes_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::serve
