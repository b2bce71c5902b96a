#include "mangrove/infer/pipeline/stage_worker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/pipeline/predictions.h"
#include "mangrove/infer/pipeline/stream_work.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {

StageWorker::StageWorker(StreamPartOptions options)
    : job_(options.job),
      context_(options.context),
      stages_(compile_options(job_, context_), context_.endpoint.rank(), std::move(options.load)),
      codec_(job_.activations()),
      meter_(context_, options.slowdown) {}

Status StageWorker::place(const Command& command, const Graph& graph, const SampleSource& source) {
  for (Task& task : tasks_) {
    if (task.header.stage() == 0) MG_RETURN_IF_ERROR(samples_.end(task.samples, *task.header.mutable_unreadable()));
  }
  tasks_.clear();
  overhead_.clear();
  MG_RETURN_IF_ERROR(stages_.place(command, graph));
  meter_.begin();  // to compile stages is no micro-batch's work
  if (stages_.find(0) != nullptr) samples_.open(source);
  generation_ = command.generation();
  return {};
}

void StageWorker::feed(const Command& command) {
  if (command.generation() != generation_ || !is_mine(command.route(), 0)) return;
  std::optional<SampleFeed::Request> samples = samples_.begin(command, job_.micro_batch());
  if (!samples) return;
  Task task;
  if (command.remaining_s() > 0) task.deadline = context_.clock.after(command.remaining_s());
  task.header.set_generation(command.generation());
  task.header.set_micro_batch(command.micro_batch());
  task.header.set_count(command.count());
  *task.header.mutable_route() = command.route();
  task.samples = *std::move(samples);
  tasks_.push_back(std::move(task));
}

/// Whether this stage of the route is here.
bool StageWorker::is_mine(const HeldStages::Route& route, std::size_t stage) const {
  return stages_.fits(route) && stage < stages_.size() && route[static_cast<int>(stage)] == context_.endpoint.rank();
}

void StageWorker::take_activation(net::Message message) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  Task task;
  Activation& header = task.header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("activation cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  if (header.generation() != generation_ || header.stage() == 0 || !is_mine(header.route(), header.stage())) return;
  const CompiledStage* stage = stages_.find(header.stage());
  const bool valid = header.count() >= 1 && header.count() <= job_.micro_batch() &&
                     encoded_bytes(job_.activations(), stage->input_elements(header.count())) ==
                         static_cast<std::int64_t>(parts->body.size());
  if (!valid) {
    log_warn("activation does not fit the stage", {{"from", message.from}, {"stage", header.stage()}});
    return;
  }
  const bool travelled = message.from != context_.endpoint.rank();
  header.mutable_trace()->add_transit(context_.clock.now().seconds - header.sent_at());
  header.mutable_trace()->add_sent_bytes(travelled ? static_cast<std::int64_t>(message.payload.size()) : 0);
  if (header.remaining_s() > 0) task.deadline = context_.clock.after(header.remaining_s());
  task.body_bytes = parts->body.size();
  task.payload = std::move(message.payload);
  tasks_.push_back(std::move(task));
}

Status StageWorker::work() {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  const Instant start = context_.clock.now();  // waiting for the samples is this device's work too
  const std::span<float> input = stages_.find(task.header.stage())->input(task.header.count());
  if (task.header.stage() == 0) {
    MG_TRY(const data::Batch batch, samples_.end(task.samples, *task.header.mutable_unreadable()));
    std::ranges::copy(batch.images.as<float>().first(input.size()), input.begin());
    const auto end = batch.labels.begin() + task.header.count();  // the rest is padding
    if (!samples_.has_frames()) task.header.mutable_truths()->Add(batch.labels.begin(), end);
  } else {
    const std::string_view payload = task.payload;
    MG_RETURN_IF_ERROR(codec_.decode(payload.substr(payload.size() - task.body_bytes), input));
  }
  run_stage(task, start);
  return {};
}

void StageWorker::run_stage(const Task& task, Instant start) {
  const Activation& header = task.header;
  const auto is_late = [&] { return context_.clock.now() >= task.deadline; };
  if (is_late()) return send_missed(context_.endpoint, header.generation(), header.micro_batch());
  const std::size_t stage = header.stage();
  CompiledStage& compiled = *stages_.find(stage);
  context_.device.charge(compiled.flops());
  const std::span<const float> values = compiled.run(header.count());
  const Instant computed = context_.clock.now();
  Trace trace = header.trace();
  trace.add_seconds(meter_.busy(computed - start, overhead_[stage]));
  trace.add_ranks(context_.endpoint.rank());
  trace.add_resident(meter_.resident());
  trace.add_queued(static_cast<std::uint32_t>(
      std::ranges::count_if(tasks_, [&](const Task& other) { return other.header.stage() == stage; })));
  if (is_late()) {
    send_missed(context_.endpoint, header.generation(), header.micro_batch());
  } else if (stage + 1 == stages_.size()) {
    send_predictions(header, std::move(trace), values);
  } else {
    send_on(task, std::move(trace), values);
  }
  overhead_[stage] = context_.clock.now() - computed;
}

void StageWorker::send_predictions(const Activation& header, Trace trace, std::span<const float> values) {
  FromNode message;
  Predictions& predictions = *message.mutable_predictions();
  predictions.set_generation(header.generation());
  predictions.set_micro_batch(header.micro_batch());
  add_predictions(values, header.count(), {.confidence = job_.frames(), .scores = job_.frame_values()}, predictions);
  *predictions.mutable_unreadable() = header.unreadable();
  *predictions.mutable_truths() = header.truths();
  *predictions.mutable_trace() = std::move(trace);
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

void StageWorker::send_on(const Task& task, Trace trace, std::span<const float> values) {
  Activation next = task.header;
  next.set_stage(task.header.stage() + 1);
  if (task.deadline < Deadline::never())
    next.set_remaining_s(std::max(kLeastRemaining, task.deadline - context_.clock.now()));
  *next.mutable_trace() = std::move(trace);
  next.set_sent_at(context_.clock.now().seconds);
  const std::int64_t bytes = encoded_bytes(job_.activations(), std::ssize(values));
  std::string payload = net::begin_payload(next.SerializeAsString(), static_cast<std::size_t>(bytes));
  codec_.append(payload, values);
  context_.endpoint.send(next.route(static_cast<int>(next.stage())), kActivationTag, std::move(payload));
}

}  // namespace mangrove::infer
