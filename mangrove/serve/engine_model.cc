#include "mangrove/serve/engine_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/serve/class_labels.h"
#include "mangrove/serve/model_metadata.h"
#include "mangrove/serve/request_check.h"

namespace mangrove::serve {
namespace {

BatchQueueOptions queue_options(const ModelMetadata& metadata, const BatchedNetwork& network,
                                const ModelOptions& options) {
  const bool combines = metadata.max_batch > 0 && std::ranges::all_of(metadata.inputs, [](const TensorMetadata& input) {
                          return Shape(input.shape).is_symbolic();  // the same for all requests of a batch otherwise
                        });
  return {.max_batch = network.max_batch(),
          .combines = combines,
          .max_requests = options.max_queue,
          .max_bytes = options.queue_bytes};
}

/// Memory for what is wanted, once it is known that inputs and results together do not take more than `most` bytes.
Status make_results(const ModelMetadata& metadata, Bytes most, RequestContent& content) {
  Bytes bytes = output_bytes(metadata, content.outputs, content.samples);
  for (const Tensor& input : content.inputs) bytes = bytes > most ? bytes : bytes + input.bytes();
  if (bytes > most)
    return make_error(Code::invalid_argument,
                      fmt::format("a request of {} takes more than the {} that queue_bytes allows",
                                  format_things(content.samples, "sample"), format_bytes(most)));
  content.bytes = bytes;
  for (const std::size_t output : content.outputs) {
    const TensorMetadata& tensor = metadata.outputs[output];
    content.results.emplace_back(tensor.dtype, Shape(tensor.shape).with_batch(content.samples));
  }
  return {};
}

Error deadline_passed() {
  return make_error(Code::deadline_exceeded, "the request's deadline passed before it was computed");
}

}  // namespace

Result<std::shared_ptr<EngineModel>> EngineModel::load(const Graph& graph, const std::string& name,
                                                       const std::string& version, const ModelOptions& options) {
  MG_TRY(std::vector<std::string> labels, class_labels(options.labels, graph).context("labels"));
  MG_TRY(auto network, BatchedNetwork::create(graph, options));
  ModelMetadata metadata = metadata_of(graph, name, version, std::move(labels), network->max_batch());
  return std::shared_ptr<EngineModel>(new EngineModel(std::move(metadata), std::move(network), options));
}

EngineModel::EngineModel(ModelMetadata metadata, std::unique_ptr<BatchedNetwork> network, const ModelOptions& options)
    : metadata_(std::move(metadata)),
      options_(options),
      network_(std::move(network)),
      queue_(queue_options(metadata_, *network_, options)) {
  const MutexLock lock(closing_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.instances); ++i)
    instances_.emplace_back([this, i] { compute_batches(i); });
}

EngineModel::~EngineModel() {
  close();
}

void EngineModel::close() {
  queue_.close();
  const MutexLock lock(closing_);
  instances_.clear();  // joins
}

ModelStatistics EngineModel::statistics() const {
  ModelStatistics statistics = counters_.read();
  statistics.waiting = queue_.waiting();
  return statistics;
}

void EngineModel::infer(InferenceRequest request, AnswerSink answer) {
  const Instant arrival = clock_.now();
  const std::string where = "model '" + metadata_.name + "'";
  Result<RequestContent> content = content_of(request, arrival).context(where);
  if (!content.ok()) {
    counters_.add_failure(clock_.now() - arrival);
    return answer(content.error());
  }
  const auto pending = std::make_shared<PendingRequest>(std::move(content).value(), std::move(answer));
  const Status queued = queue_.push(pending).context(where);
  if (queued.ok()) return;
  const Seconds took = clock_.now() - arrival;
  if (queued.code() == Code::resource_exhausted) {
    counters_.add_refusal(took);
  } else {
    counters_.add_failure(took);
  }
  pending->answer(queued.error());
}

Result<RequestContent> EngineModel::content_of(const InferenceRequest& request, Instant arrival) const {
  MG_TRY(CheckedRequest checked, check_request(metadata_, request));
  if (request.deadline <= arrival) return deadline_passed();
  RequestContent content{
      .inputs = std::move(checked.inputs),
      .outputs = std::move(checked.outputs),
      .samples = checked.samples,
      .priority = request.priority,
      .arrival = arrival,
      .latest_start = std::min(arrival + options_.max_wait, arrival + (request.deadline - arrival) / 2),
      .deadline = request.deadline};
  MG_RETURN_IF_ERROR(make_results(metadata_, options_.queue_bytes, content));
  return content;
}

void EngineModel::compute_batches(std::size_t instance) {
  while (std::optional<Batch> batch = queue_.take()) {
    for (const auto& request : batch->expired) expire(*request);
    while (!batch->parts.empty())
      compute(instance, take_samples(batch->parts, network_->samples_at_once(samples_of(batch->parts))));
  }
}

void EngineModel::compute(std::size_t instance, const std::vector<BatchPart>& parts) {
  const Instant began = clock_.now();
  const BatchTimes times = network_->run(instance, parts);
  counters_.add_batch(samples_of(parts), times);
  for (const BatchPart& part : parts) finish(part, began, times);
}

void EngineModel::finish(const BatchPart& part, Instant began, const BatchTimes& times) {
  const std::optional<RequestTimes> all = part.request->finish(part.count, began, times);
  if (!all) return;
  const RequestContent& content = part.request->content();
  InferenceResponse response{.version = metadata_.version, .outputs = {}};
  for (std::size_t k = 0; k < content.outputs.size(); ++k)
    response.outputs.push_back({metadata_.outputs[content.outputs[k]].name, content.results[k]});
  counters_.add_success(content.samples, *all, clock_.now() - content.arrival);
  queue_.release(content.bytes);
  part.request->answer(std::move(response));
}

void EngineModel::expire(PendingRequest& request) {
  if (!request.claim()) return;
  counters_.add_failure(clock_.now() - request.content().arrival);
  queue_.release(request.content().bytes);
  request.answer(deadline_passed().context("model '" + metadata_.name + "'"));
}

}  // namespace mangrove::serve
