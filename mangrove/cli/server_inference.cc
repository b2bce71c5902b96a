#include "mangrove/cli/server_inference.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/sources/data_source.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/data/dataset.h"
#include "mangrove/data/loader.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/preparation.h"

namespace mangrove::cli {
namespace {

constexpr std::int64_t kRequestsInFlight = 4;  // where --window does not say how many
constexpr int kBatchesPrepared = 4;
constexpr Seconds kShowProgressEvery = 0.2;

/// The samples that go out, and what comes back. threads: any thread may call any method.
class Exchanged {
 public:
  Exchanged(std::shared_ptr<const data::Dataset> dataset, const data::LoaderOptions& options, std::int64_t samples)
      : loader_(std::move(dataset), options),
        batches_((samples + options.batch - 1) / options.batch),
        predicted_(static_cast<std::size_t>(samples), -1) {
    for (std::int64_t first = 0; first < samples; first += options.batch) {
      std::vector<std::uint32_t> indices(static_cast<std::size_t>(std::min(options.batch, samples - first)));
      std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
      loader_.request(std::move(indices));
    }
  }

  struct Next {
    std::int64_t first;  // sample
    data::Batch batch;
  };
  /// Nothing: there are no more samples, or they cannot be read.
  std::optional<Next> next(std::int64_t batch_size) {
    const MutexLock lock(mutex_);
    if (taken_ == batches_ || !failed_.ok()) return std::nullopt;
    Result<data::Batch> batch = loader_.next();
    if (!batch.ok()) {
      failed_ = batch.error();
      return std::nullopt;
    }
    return Next{taken_++ * batch_size, std::move(*batch)};
  }
  void answered(std::int64_t first, std::span<const std::int32_t> classes, const std::string& version, Seconds took) {
    const MutexLock lock(mutex_);
    std::ranges::copy(classes, predicted_.begin() + static_cast<std::ptrdiff_t>(first));
    versions_.insert(version);
    latencies_.push_back(took);
    done_ += std::ssize(classes);
  }
  void lost(const Error& error) {
    const MutexLock lock(mutex_);
    ++lost_;
    if (!first_error_) first_error_ = error;
  }

  /// One of those who ask has ended.
  void end() {
    const MutexLock lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  /// Waits until so many have ended, but no longer than this. Nothing: they have; else how many samples have answers.
  std::optional<std::int64_t> wait_for_end(std::int64_t askers, Seconds at_most) {
    const MutexLock lock(mutex_);
    if (ended_ < askers) changed_.wait_for(mutex_, at_most);
    if (ended_ == askers) return std::nullopt;
    return done_;
  }
  /// errors: of the samples; of all requests, where none was answered.
  Status status() {
    const MutexLock lock(mutex_);
    if (!failed_.ok()) return failed_.error();
    if (latencies_.empty() && first_error_) return *first_error_;
    return {};
  }
  void report(ServerInferenceReport& report) {
    const MutexLock lock(mutex_);
    report.versions = {versions_.begin(), versions_.end()};
    report.requests = std::ssize(latencies_) + lost_;
    report.latency = infer::Latency(latencies_);
    if (first_error_) report.error = first_error_->message;
  }
  /// Once all have been asked.
  const std::vector<std::int32_t>& predicted() const { return predicted_; }

 private:
  Mutex mutex_;
  Condition changed_;
  data::Loader loader_;
  const std::int64_t batches_;
  std::int64_t taken_ MG_GUARDED_BY(mutex_) = 0, done_ MG_GUARDED_BY(mutex_) = 0;
  std::int64_t lost_ MG_GUARDED_BY(mutex_) = 0, ended_ MG_GUARDED_BY(mutex_) = 0;
  std::vector<std::int32_t> predicted_;  // -1: no answer; each element is written once, under mutex_
  std::set<std::string> versions_ MG_GUARDED_BY(mutex_);
  std::vector<Seconds> latencies_ MG_GUARDED_BY(mutex_);
  std::optional<Error> first_error_ MG_GUARDED_BY(mutex_);
  Status failed_ MG_GUARDED_BY(mutex_);
};

/// What is asked, by all requests.
struct Question {
  serve::ServerAccess access;
  serve::ModelMetadata model;
  bool as_bytes = false;
  std::int64_t batch = 1;
  std::int32_t classes = 0;
};

/// The classes of a network's answer: of its last output, since a network with early exits decides best at the end.
std::vector<std::int32_t> classes_of(const serve::InferenceResponse& answer, const Question& question) {
  return learn::argmax_rows(std::as_const(answer.outputs.back().tensor).as<float>(), question.classes);
}

Tensor first_rows(const Tensor& images, std::int64_t count) {
  std::vector<std::int64_t> shape = images.shape().dims();
  shape.front() = count;
  Tensor rows(images.dtype(), Shape(shape));
  std::copy_n(images.data(), rows.bytes(), rows.data());
  return rows;
}

/// Asks one request after the other until there are no more samples. Returns how often it has repeated one.
std::int64_t ask_on(const Question& question, Exchanged& exchanged, const std::stop_token& stop) {
  serve::OpenInferenceClient client(question.access, stop);
  const SteadyClock clock;
  while (!stop.stop_requested()) {
    const auto next = exchanged.next(question.batch);
    if (!next) break;
    serve::InferenceRequest request;
    request.inputs.push_back({question.model.inputs.front().name, first_rows(next->batch.images, next->batch.count)});
    const Instant asked = clock.now();
    const auto answer = client.infer(question.model, request, next->batch.count, question.as_bytes);
    if (answer.ok())
      exchanged.answered(next->first, classes_of(*answer, question), answer->version, clock.now() - asked);
    else
      exchanged.lost(answer.error());
  }
  return client.repeated();
}

/// errors: invalid_argument: the model takes other samples, or does not classify them.
Status check_model(const serve::ModelMetadata& model, const data::Dataset& dataset) {
  const std::string where = "model '" + model.name + "'";
  std::vector<std::int64_t> wanted = dataset.sample_shape().dims();
  wanted.insert(wanted.begin(), -1);
  const bool takes_them = model.inputs.size() == 1 && model.inputs.front().dtype == DType::f32 &&
                          std::ranges::equal(model.inputs.front().shape, wanted,
                                             [](auto has, auto wants) { return has == -1 || has == wants; }) &&
                          !model.inputs.front().shape.empty() && model.inputs.front().shape.front() == -1;
  if (!takes_them)
    return make_error(Code::invalid_argument,
                      where + " does not take these samples: expected one input FP32 " + to_string(Shape(wanted)));
  const bool classifies = !model.outputs.empty() && model.outputs.back().dtype == DType::f32 &&
                          model.outputs.back().shape.size() == 2 && model.outputs.back().shape[1] > 1;
  if (classifies) return {};
  return make_error(Code::invalid_argument, where + " does not classify: its last output is not FP32 [N, classes]");
}

Result<Question> make_question(const ServerFlags& server, const InferSettings& settings, std::string model,
                               ServerInferenceReport& report, const std::stop_token& stop) {
  Question question{.access = {}, .model = {}, .batch = settings.job.micro_batch()};
  MG_TRY(question.access, server_access(server, settings.cluster.identity, settings.cluster.insecure));
  serve::OpenInferenceClient client(question.access, stop);
  MG_TRY(const serve::ServerDescription description, client.server());
  question.as_bytes = description.offers("binary_tensor_data");
  report.server = description.name + " " + description.version;
  report.encoding = question.as_bytes ? "bytes" : "json";
  if (model.empty()) {
    Result<std::string> only = client.only_model();
    if (!only.ok()) return only.error().context("give --model-name NAME");
    model = *only;
  }
  MG_TRY(question.model, client.metadata(model));
  return question;
}

/// Sends all samples, several requests at once. Returns how often one was repeated.
std::int64_t ask_all(const Question& question, Exchanged& exchanged, std::int64_t in_flight,
                     const LoopProgress& progress, const std::stop_token& stop) {
  std::vector<std::int64_t> repeated(static_cast<std::size_t>(in_flight), 0);
  std::vector<std::jthread> askers;
  askers.reserve(repeated.size());
  for (std::int64_t& count : repeated)
    askers.emplace_back([&] {
      count = ask_on(question, exchanged, stop);
      exchanged.end();
    });
  while (const auto done = exchanged.wait_for_end(in_flight, kShowProgressEvery)) progress(*done);
  askers.clear();  // joins
  return std::accumulate(repeated.begin(), repeated.end(), std::int64_t{0});
}

/// Compares the answers with the labels.
void judge(const data::Dataset& dataset, std::int32_t classes, const std::vector<std::int32_t>& predicted,
           ServerInferenceReport& report) {
  learn::ConfusionMatrix matrix(std::max(classes, dataset.classes()));
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (predicted[i] >= 0) matrix.add(dataset.label(static_cast<std::uint32_t>(i)), predicted[i]);
  report.accuracy = matrix.accuracy();
  report.macro_f1 = matrix.macro_f1();
  report.lost = report.images - matrix.total();
  report.images_per_s = static_cast<double>(matrix.total()) / std::max(report.seconds, 1e-9);
}

}  // namespace

Result<ServerInferenceReport> infer_on_server(const InferSettings& settings, const ServerFlags& server,
                                              const std::string& model, const OutputOptions& output,
                                              const std::stop_token& stop) {
  ServerInferenceReport report;
  report.url = server.url;
  report.micro_batch = settings.job.micro_batch();
  report.window = settings.job.window() > 0 ? settings.job.window() : kRequestsInFlight;
  MG_TRY(Question question, make_question(server, settings, model, report, stop));
  report.model = question.model.name;
  MG_TRY(report.data, ensure_data(settings.data, stop));
  report.in_place_of = in_place_of(settings.data, report.data);
  const fs::path folder = data::data_folder(settings.data.data_dir);
  MG_TRY(const auto dataset, data::open_dataset(report.data, data::Split::test, folder));
  MG_RETURN_IF_ERROR(check_model(question.model, *dataset));
  question.classes = static_cast<std::int32_t>(question.model.outputs.back().shape[1]);
  MG_TRY(const auto preparation, learn::preparation_of(question.model.properties, dataset->sample_shape(), folder));
  report.images = settings.job.limit() > 0 ? std::min<std::int64_t>(settings.job.limit(), dataset->size())
                                           : std::int64_t{dataset->size()};
  Exchanged exchanged(dataset,
                      {.batch = question.batch, .batches_ahead = kBatchesPrepared, .augmentation = preparation},
                      report.images);
  ProgressDisplay display(shows_progress(output));
  const LoopProgress progress(display, "ask", report.images);
  const SteadyClock clock;
  const Instant began = clock.now();
  report.repeated = ask_all(question, exchanged, report.window, progress, stop);
  report.seconds = clock.now() - began;
  display.finish();
  if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
  MG_RETURN_IF_ERROR(exchanged.status());
  exchanged.report(report);
  judge(*dataset, question.classes, exchanged.predicted(), report);
  return report;
}

}  // namespace mangrove::cli
