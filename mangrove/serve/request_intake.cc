#include "mangrove/serve/request_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/serve/model_metadata.h"
#include "mangrove/serve/request_check.h"

namespace mangrove::serve {
namespace {

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

std::string named(const ModelMetadata& model) {
  return "model '" + model.name + "'";
}

}  // namespace

RequestIntake::RequestIntake(ModelMetadata metadata, const IntakeOptions& options)
    : metadata_(std::move(metadata)), options_(options), queue_(options.queue) {}

ModelStatistics RequestIntake::statistics() const {
  ModelStatistics statistics = counters_.read();
  statistics.waiting = queue_.waiting();
  return statistics;
}

void RequestIntake::submit(const InferenceRequest& request, AnswerSink answer) {
  const Instant arrival = clock_.now();
  Result<RequestContent> content = content_of(request, arrival).context(named(metadata_));
  if (!content.ok()) {
    counters_.add_failure(clock_.now() - arrival);
    return answer(content.error());
  }
  const auto pending = std::make_shared<PendingRequest>(std::move(content).value(), std::move(answer));
  const Status queued = queue_.push(pending).context(named(metadata_));
  if (queued.ok()) return;
  const Seconds took = clock_.now() - arrival;
  if (queued.code() == Code::resource_exhausted) {
    counters_.add_refusal(took);
  } else {
    counters_.add_failure(took);
  }
  pending->answer(queued.error());
}

Result<RequestContent> RequestIntake::content_of(const InferenceRequest& request, Instant arrival) const {
  MG_TRY(CheckedRequest checked, check_request(metadata_, request));
  if (checked.samples > options_.max_samples)
    return make_error(Code::invalid_argument,
                      fmt::format("a request of {}, where {} are the most", format_things(checked.samples, "sample"),
                                  format_count(options_.max_samples)));
  if (request.deadline <= arrival) return deadline_passed();
  RequestContent content{
      .inputs = std::move(checked.inputs),
      .outputs = std::move(checked.outputs),
      .samples = checked.samples,
      .priority = request.priority,
      .arrival = arrival,
      .latest_start = std::min(arrival + options_.max_wait, arrival + (request.deadline - arrival) / 2),
      .deadline = request.deadline};
  MG_RETURN_IF_ERROR(make_results(metadata_, options_.queue.max_bytes, content));
  return content;
}

std::optional<std::vector<BatchPart>> RequestIntake::take() {
  std::optional<Batch> batch = queue_.take();
  if (!batch) return std::nullopt;
  for (const auto& request : batch->expired) expire(*request);
  return std::move(batch->parts);
}

void RequestIntake::finish(const BatchPart& part, Instant began, const BatchTimes& times) {
  const std::optional<RequestTimes> all = part.request->finish(part.count, began, times);
  if (!all) return;
  const RequestContent& content = part.request->content();
  InferenceResponse response{.version = metadata_.version,
                             .outputs = {},
                             .queued = all->queue,
                             .computed = all->compute.input + all->compute.infer + all->compute.output};
  for (std::size_t k = 0; k < content.outputs.size(); ++k)
    response.outputs.push_back({metadata_.outputs[content.outputs[k]].name, content.results[k]});
  counters_.add_success(content.samples, *all, clock_.now() - content.arrival);
  queue_.release(content.bytes);
  part.request->answer(std::move(response));
}

void RequestIntake::count_exits(const RequestTimes& times, bool has_left) {
  const Seconds took = times.queue + times.compute.infer;
  if (!has_left) return counters_.add_failure(took);
  counters_.add_batch(1, times.compute);
  counters_.add_success(1, times, took);
}

void RequestIntake::fail(PendingRequest& request, const Error& error) {
  if (!request.claim()) return;
  counters_.add_failure(clock_.now() - request.content().arrival);
  queue_.release(request.content().bytes);
  request.answer(error.context(named(metadata_)));
}

void RequestIntake::expire(PendingRequest& request) {
  fail(request, deadline_passed());
}

}  // namespace mangrove::serve
