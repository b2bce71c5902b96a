#include "mangrove/infer/pipeline/stage_worker.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/infer/compile_options.h"
#include "mangrove/infer/tags.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
StageWorker::StageWorker(const InferJob& job, job::RoleContext& context, double slowdown, LoadParameters load)
    : job_(job),
      context_(context),
      stages_(compile_options(job, context), context.endpoint.rank(), std::move(load)),
      codec_(job.activations()),
      has_spare_core_(context.device.cpu_share() >= context.threads + 1),
      slowdown_(slowdown) {}

Status StageWorker::place(const Command& command, const Graph& graph, const SampleSource& source) {
  for (Task& task : tasks_) {
    if (task.header.stage() == 0) MG_RETURN_IF_ERROR(load(task));
  }
  tasks_.clear();
  overhead_.clear();
  resident_ = 0;
  counted_cpu_ = context_.device.computed();
  MG_RETURN_IF_ERROR(stages_.place(command, graph));
  source_ = source;
  if (stages_.find(0) != nullptr && !loader_) loader_.emplace(source.dataset, source.loading);
  generation_ = command.generation();
  return {};
}

/// The samples are loaded while older micro-batches are computed.
void StageWorker::feed(const Command& command) {
  const std::int64_t samples = source_.samples;
  const bool has_samples = source_.frames ? command.frames_size() == command.count()
                                          : command.begin() >= 0 && command.count() <= samples &&
                                                command.begin() <= samples - command.count();
  const bool valid = command.count() >= 1 && command.count() <= job_.micro_batch() && has_samples;
  if (command.generation() != generation_ || !is_mine(command.route(), 0) || !valid) return;
  Task task;
  if (command.remaining_s() > 0) task.deadline = context_.clock.after(command.remaining_s());
  task.header.set_generation(command.generation());
  task.header.set_micro_batch(command.micro_batch());
  task.header.set_count(command.count());
  *task.header.mutable_route() = command.route();
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(command.count()));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(command.begin()));
  if (source_.frames) indices = task.frames = source_.frames->add(command.frames());
  loader_->request(std::move(indices));
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

/// The samples of a micro-batch for the first stage.
Result<data::Batch> StageWorker::load(Task& task) {
  MG_TRY(data::Batch batch, loader_->next());
  if (!source_.frames) return batch;
  for (Unreadable& frame : source_.frames->remove(task.frames)) *task.header.add_unreadable() = std::move(frame);
  return batch;
}

Status StageWorker::work() {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  const Instant start = context_.clock.now();  // waiting for the samples is this device's work too
  const std::span<float> input = stages_.find(task.header.stage())->input(task.header.count());
  if (task.header.stage() == 0) {
    MG_TRY(const data::Batch batch, load(task));
    std::ranges::copy(batch.images.as<float>().first(input.size()), input.begin());
    const auto end = batch.labels.begin() + task.header.count();  // the rest is padding
    if (!source_.frames) task.header.mutable_truths()->Add(batch.labels.begin(), end);
  } else {
    const std::string_view payload = task.payload;
    MG_RETURN_IF_ERROR(codec_.decode(payload.substr(payload.size() - task.body_bytes), input));
  }
  run_stage(task, start);
  return {};
}

/// What this board has worked for a micro-batch: computing, unpacking and packing; where no core is left for reading,
/// sending and receiving, all that its process has computed since the last one, as its quota stretches that.
Seconds StageWorker::busy(std::size_t stage, Seconds computing) {
  if (has_spare_core_) return computing + overhead_[stage];
  const Seconds cpu = context_.device.computed();
  return (cpu - std::exchange(counted_cpu_, cpu)) * slowdown_;
}

/// The most memory of this process since the stages were placed, as far as was looked.
Bytes StageWorker::resident() {
  constexpr Seconds kInterval = 0.1;
  const Instant now = context_.clock.now();
  if (resident_ == 0 || now - looked_ >= kInterval) {
    resident_ = std::max(resident_, context_.device.resident_memory());
    looked_ = now;
  }
  return resident_;
}

void StageWorker::run_stage(const Task& task, Instant start) {
  const Activation& header = task.header;
  const auto is_late = [&] { return context_.clock.now() >= task.deadline; };
  if (is_late()) return send_missed(header);
  const std::size_t stage = header.stage();
  CompiledStage& compiled = *stages_.find(stage);
  context_.device.charge(compiled.flops());
  const std::span<const float> values = compiled.run(header.count());
  const Instant computed = context_.clock.now();
  Trace trace = header.trace();
  trace.add_seconds(busy(stage, computed - start));
  trace.add_ranks(context_.endpoint.rank());
  trace.add_resident(resident());
  trace.add_queued(static_cast<std::uint32_t>(
      std::ranges::count_if(tasks_, [&](const Task& other) { return other.header.stage() == stage; })));
  if (is_late()) {
    send_missed(header);
  } else if (stage + 1 == stages_.size()) {
    send_predictions(header, std::move(trace), values);
  } else {
    send_on(task, std::move(trace), values);
  }
  overhead_[stage] = context_.clock.now() - computed;
}

void StageWorker::send_missed(const Activation& header) {
  FromNode message;
  Predictions& predictions = *message.mutable_predictions();
  predictions.set_generation(header.generation());
  predictions.set_micro_batch(header.micro_batch());
  predictions.set_missed(true);
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

void StageWorker::send_predictions(const Activation& header, Trace trace, std::span<const float> values) {
  FromNode message;
  Predictions& predictions = *message.mutable_predictions();
  predictions.set_generation(header.generation());
  predictions.set_micro_batch(header.micro_batch());
  const auto classes = static_cast<std::int32_t>(static_cast<std::int64_t>(values.size()) / header.count());
  for (const std::int32_t c : learn::argmax_rows(values, classes)) predictions.add_classes(c);
  if (source_.frames) {
    for (std::int64_t row = 0; row < header.count(); ++row) {
      const std::span<const float> scores =
          values.subspan(static_cast<std::size_t>(row * classes), static_cast<std::size_t>(classes));
      predictions.add_confidence(static_cast<float>(std::ranges::max(learn::probabilities(scores))));
      if (job_.frame_values())
        predictions.add_scores(reinterpret_cast<const char*>(scores.data()), scores.size_bytes());
    }
  }
  *predictions.mutable_unreadable() = header.unreadable();
  *predictions.mutable_truths() = header.truths();
  *predictions.mutable_trace() = std::move(trace);
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

void StageWorker::send_on(const Task& task, Trace trace, std::span<const float> values) {
  Activation next = task.header;
  next.set_stage(task.header.stage() + 1);
  if (task.deadline < Deadline::never()) next.set_remaining_s(task.deadline - context_.clock.now());
  *next.mutable_trace() = std::move(trace);
  next.set_sent_at(context_.clock.now().seconds);
  const std::int64_t bytes = encoded_bytes(job_.activations(), std::ssize(values));
  std::string payload = net::begin_payload(next.SerializeAsString(), static_cast<std::size_t>(bytes));
  codec_.append(payload, values);
  context_.endpoint.send(next.route(static_cast<int>(next.stage())), kActivationTag, std::move(payload));
}

}  // namespace mangrove::infer
