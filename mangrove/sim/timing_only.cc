#include "mangrove/sim/timing_only.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/job/event.h"
#include "mangrove/job/progress.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/replica_pool.h"
#include "mangrove/train/result.h"
#include "mangrove/train/strategy_row.h"
#include "mangrove/train/tags.h"

namespace mangrove::sim {
namespace {

constexpr std::int64_t kInputs = 64;  // of the stand-in: enough parameters to be dealt out among workers
constexpr float kRate = 1e-3f;        // it must learn nothing, and must not diverge

/// Samples of zeros, of the same classes as those of another data set.
class BlankDataset final : public data::Dataset {
 public:
  explicit BlankDataset(std::shared_ptr<const data::Dataset> like) : like_(std::move(like)) {}
  std::uint32_t size() const override { return like_->size(); }
  Shape sample_shape() const override { return {1, 1, kInputs}; }
  const std::vector<std::string>& class_names() const override { return like_->class_names(); }
  std::vector<std::uint32_t> run_ends() const override { return like_->run_ends(); }
  std::int32_t label(std::uint32_t index) const override { return like_->label(index); }
  Status read(std::uint32_t, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0f);
    return {};
  }

 private:
  const std::shared_ptr<const data::Dataset> like_;
};

std::shared_ptr<const data::Dataset> blank(const std::shared_ptr<const data::Dataset>& like) {
  return like == nullptr ? nullptr : std::make_shared<const BlankDataset>(like);
}

Graph stand_in(std::int64_t classes) {
  GraphParts parts;
  parts.name = "stand-in";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 1, kInputs}}}};
  parts.outputs = {"logits"};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"flat"}},
                 {"dense", "Gemm", {{"transB", std::int64_t{1}}}, {"flat", "w", "b"}, {"logits"}}};
  parts.initializers = {{"w", Tensor(DType::f32, {classes, kInputs})}, {"b", Tensor(DType::f32, {classes})}};
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *std::move(graph);
}

Error not_modelled(const std::string& key) {
  return make_error(Code::invalid_argument, key +
                                                ": goes by what is learnt or measured, and with --compute modelled "
                                                "nothing is; leave it out, or use --compute real");
}

Status check(const train::TrainJob& job) {
  if (train::strategy_of(job).pipeline != nullptr)
    return make_error(Code::unimplemented,
                      "strategy: the stages of '" + job.strategy() + "' cannot be modelled yet; use --compute real");
  if (train::strategy_of(job).divides_layers)
    return make_error(Code::unimplemented, "strategy: the divided layers of '" + job.strategy() +
                                               "' cannot be modelled yet; use --compute real");
  if (job.secure_aggregation())
    return make_error(Code::unimplemented,
                      "secure_aggregation: the messages of a sum cannot be modelled yet; use --compute real");
  if (job.patience() > 0) return not_modelled("patience");
  if (train::is_auto(job)) return not_modelled("codec 'auto'");
  if (job.codec_warmup() > 0) return not_modelled("codec_warmup");
  return {};
}

Status check(const infer::InferJob& job) {
  if (job.exit_thresholds_size() > 0)
    return make_error(Code::invalid_argument,
                      "exit_thresholds: where an image leaves a network depends on what is computed, and with "
                      "--compute modelled nothing is; use --compute real");
  return {};
}

/// Of a message that tells of an update of this network, as the codec makes them once it has some residual.
std::size_t encoded_bytes(const std::string& codec, const Graph& graph, std::uint64_t seed) {
  constexpr int kMessages = 3;
  const codec::Stream stream = train::parameter_stream(graph, seed);
  const std::unique_ptr<codec::Codec> sender = train::with_feedback(codec, stream);
  std::vector<float> update(static_cast<std::size_t>(stream.elements()));
  Random random(seed);
  std::string message;
  for (int i = 0; i < kMessages; ++i) {
    for (float& value : update) value = static_cast<float>(random.normal());
    message = sender->encode(update);
  }
  return message.size();
}

/// Bytes of the job's messages for each byte of floats in those of the stand-in.
struct Sizes {
  double floats, uplink, downlink;
  bool answers_are_updates;  // else they are values as they are

  std::size_t of(const net::Message& message) const {
    const auto parts = net::split_payload(message.payload);
    const bool has_floats = net::purpose_of(message.tag) != net::Purpose::control;
    if (!has_floats || !parts.ok() || parts->body.empty()) return message.payload.size();
    const auto body = static_cast<double>(parts->body.size()) * times(message.tag, parts->header);
    return message.payload.size() - parts->body.size() + static_cast<std::size_t>(body);
  }

 private:
  double times(net::Tag tag, std::string_view header) const {
    if (tag == train::kAnswerTag) return answers_are_updates ? uplink : floats;
    if (tag != train::kWorkTag) return uplink;
    train::Work work;
    const bool is_training =
        work.ParseFromArray(header.data(), static_cast<int>(header.size())) && work.kind() == train::Work::TRAIN;
    return is_training ? downlink : floats;
  }
};

Sizes sizes_of(const train::TrainJob& job, const Graph& graph, const Graph& small) {
  const auto small_bytes = static_cast<double>(small.parameter_elements() * static_cast<Bytes>(sizeof(float)));
  std::int64_t elements = graph.parameter_elements();
  for (const std::string& state : graph.states()) elements += graph.value(state).shape.elements();
  Sizes sizes{};
  sizes.floats = static_cast<double>(elements) * sizeof(float) / small_bytes;
  const auto coded = [&](const std::string& codec) {
    if (train::is_plain(codec)) return sizes.floats;
    return static_cast<double>(encoded_bytes(codec, graph, job.seed())) / small_bytes;
  };
  sizes.uplink = coded(job.codec());
  sizes.downlink = coded(job.downlink_codec());
  sizes.answers_are_updates = !train::strategy_of(job).averages_with_neighbours;
  return sizes;
}

/// The payload of a report, changed.
template <class T, class Change>
Report changed(Report report, const Change& change) {
  Result<T> payload = job::parse_json<T>(report.json);
  MG_CHECK_MSG(payload.ok(), payload.error().message);  // of a role of this process
  change(*payload);
  return {report.kind, dump(job::json_of(*payload))};
}

/// Without what was not computed.
void report_times(const Reporter& report, Report whole) {
  switch (whole.kind) {
    case ReportKind::checkpoint:
      return;
    case ReportKind::progress:
      return report(changed<job::Progress>(std::move(whole), [](job::Progress& progress) {
        progress.loss.reset();
        progress.accuracy.reset();
      }));
    case ReportKind::epoch:
      return report(changed<train::EpochReport>(std::move(whole), [](train::EpochReport& epoch) {
        epoch = {.epoch = epoch.epoch, .learning_rate = epoch.learning_rate, .train_seconds = epoch.train_seconds};
      }));
    case ReportKind::event: {
      const auto event = job::parse_json<job::EventHead>(whole.json);
      if (event.ok() && event->event == train::MemoryPlanned::kEvent) return;
      return report(std::move(whole));
    }
    case ReportKind::result:
      return report(changed<train::TrainResult>(std::move(whole), [](train::TrainResult& result) {
        result.compute = "modelled";
        for (auto* share :
             {&result.accuracy, &result.macro_f1, &result.loss, &result.train_accuracy, &result.test_loss})
          share->reset();
        result.confusion.reset();
        result.set_best({});
        result.exchange.reset();
        result.memory.reset();
      }));
    case ReportKind::nodes:
    case ReportKind::answers:
    case ReportKind::line:
      return report(std::move(whole));
  }
}

Result<cluster::JobSpec> model_training(const cluster::JobSpec& job, SimulationOptions& options) {
  MG_RETURN_IF_ERROR(check(job.train()));
  MG_TRY(const Graph graph, parse_onnx(job.train().model()).context("model"));
  MG_TRY(const auto own, train::Sources::open(job.train(), options.data_folder));
  const train::Sources::Splits samples{blank(own.train), blank(own.validation), blank(own.test)};
  const Graph small = stand_in(own.train->classes());
  cluster::JobSpec modelled = job;
  train::TrainJob& settings = *modelled.mutable_train();
  settings.set_model(encode_onnx(small));
  settings.set_learning_rate(kRate);
  settings.clear_codec();
  settings.clear_downlink_codec();
  settings.clear_augment();
  options.flops_scale = static_cast<double>(multiply_adds(graph, 1)) / static_cast<double>(multiply_adds(small, 1));
  options.play = [played = options.play, samples](const cluster::JobSpec& its, job::RoleContext& context) -> Status {
    context.report = [report = context.report](Report whole) { report_times(report, std::move(whole)); };
    std::shared_ptr<job::SharedState>& shared = *context.device.shared();
    if (context.endpoint.rank() > 0 && shared == nullptr) {
      MG_TRY(const train::Hyperparameters recipe, train::hyperparameters_of(its.train()));
      MG_TRY(const Graph network, parse_onnx(its.train().model()));
      MG_TRY(auto data, train::Sources::create(its.train(), samples, context));
      MG_TRY(shared, train::ReplicaPool::create(its.train(), recipe, network, context, std::move(data)));
    }
    return played(its, context);
  };
  options.size_of = [sizes = sizes_of(job.train(), graph, small)](const net::Message& m) { return sizes.of(m); };
  return modelled;
}

/// The networks are its own: with them times and bytes are.
Result<cluster::JobSpec> model_inference(const cluster::JobSpec& job, SimulationOptions& options) {
  MG_RETURN_IF_ERROR(check(job.infer()));
  options.computes = false;
  return job;
}

}  // namespace

Result<cluster::JobSpec> model(const cluster::JobSpec& job, SimulationOptions& options) {
  return job.has_infer() ? model_inference(job, options) : model_training(job, options);
}

}  // namespace mangrove::sim
