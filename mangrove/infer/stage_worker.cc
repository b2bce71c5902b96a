#include "mangrove/infer/stage_worker.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/infer/tags.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {

StageWorker::StageWorker(const InferJob& job, net::RoleContext& context, double slowdown)
    : job_(job),
      context_(context),
      stages_({job.micro_batch(), job.backend(), context.threads, !job.unfused()}, context.endpoint.rank()),
      codec_(job.activations()),
      has_spare_core_(cpu_limit() >= context.threads + 1),
      slowdown_(slowdown) {}

Status StageWorker::place(const Command& command, const Graph& graph, const SampleSource& source) {
  for (const Task& task : tasks_) {
    if (task.header.stage() == 0) MG_RETURN_IF_ERROR(loader_->next());
  }
  tasks_.clear();
  overhead_.clear();
  counted_cpu_ = process_cpu_time();
  MG_RETURN_IF_ERROR(stages_.place(command, graph));
  samples_ = source.samples;
  if (stages_.find(0) != nullptr && !loader_) loader_.emplace(source.dataset, source.loading);
  generation_ = command.generation();
  return {};
}

/// The samples are loaded while older micro-batches are computed.
void StageWorker::feed(const Command& command) {
  const bool valid = command.begin() >= 0 && command.count() >= 1 && command.count() <= job_.micro_batch() &&
                     command.count() <= samples_ && command.begin() <= samples_ - command.count();
  if (command.generation() != generation_ || stages_.find(0) == nullptr || !valid) return;
  Task task;
  task.header.set_generation(command.generation());
  task.header.set_micro_batch(command.micro_batch());
  task.header.set_count(command.count());
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(command.count()));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(command.begin()));
  loader_->request(std::move(indices));
  tasks_.push_back(std::move(task));
}

void StageWorker::take_activation(net::Message message) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  Task task;
  Activation& header = task.header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("activation cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return;
  }
  const Stage* stage = stages_.find(header.stage());
  if (header.generation() != generation_ || stage == nullptr || header.stage() == 0) return;
  const bool valid = header.count() >= 1 && header.count() <= job_.micro_batch() &&
                     encoded_bytes(job_.activations(), stage->input_elements(header.count())) ==
                         static_cast<std::int64_t>(parts->body.size());
  if (!valid) {
    log_warn("activation does not fit the stage", {{"from", message.from}, {"stage", header.stage()}});
    return;
  }
  const bool travelled = message.from != context_.endpoint.rank();
  header.mutable_trace()->add_sent_bytes(travelled ? static_cast<std::int64_t>(message.payload.size()) : 0);
  task.body_bytes = parts->body.size();
  task.payload = std::move(message.payload);
  tasks_.push_back(std::move(task));
}

Status StageWorker::work() {
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  const Instant start = context_.clock.now();  // waiting for the samples is this device's work too
  const auto elements =
      static_cast<std::size_t>(stages_.find(task.header.stage())->input_elements(task.header.count()));
  if (task.header.stage() == 0) {
    MG_TRY(const data::Batch batch, loader_->next());
    return run_stage(task.header, batch.images.as<float>().first(elements), start);
  }
  received_.resize(elements);
  MG_RETURN_IF_ERROR(
      codec_.decode(std::string_view(task.payload).substr(task.payload.size() - task.body_bytes), received_));
  return run_stage(task.header, received_, start);
}

/// What this board has worked for a micro-batch: computing, unpacking and packing; where no core is left for reading,
/// sending and receiving, all that its process has computed since the last one, as its quota stretches that.
Seconds StageWorker::busy(std::size_t stage, Seconds computing) {
  if (has_spare_core_) return computing + overhead_[stage];
  const Seconds cpu = process_cpu_time();
  return (cpu - std::exchange(counted_cpu_, cpu)) * slowdown_;
}

Status StageWorker::run_stage(const Activation& header, std::span<const float> received, Instant start) {
  const std::size_t stage = header.stage();
  MG_TRY(const std::span<const float> values, stages_.find(stage)->run(header.count(), received));
  const Instant computed = context_.clock.now();
  Trace trace = header.trace();
  trace.add_seconds(busy(stage, computed - start));
  trace.add_queued(static_cast<std::uint32_t>(
      std::ranges::count_if(tasks_, [&](const Task& task) { return task.header.stage() == stage; })));
  stage + 1 == stages_.size() ? send_predictions(header, std::move(trace), values)
                              : send_on(header, std::move(trace), values);
  overhead_[stage] = context_.clock.now() - computed;
  return {};
}

void StageWorker::send_predictions(const Activation& header, Trace trace, std::span<const float> values) {
  FromNode message;
  Predictions& predictions = *message.mutable_predictions();
  predictions.set_generation(header.generation());
  predictions.set_micro_batch(header.micro_batch());
  const auto classes = static_cast<std::int32_t>(static_cast<std::int64_t>(values.size()) / header.count());
  for (const std::int32_t c : learn::argmax_rows(values, classes)) predictions.add_classes(c);
  *predictions.mutable_trace() = std::move(trace);
  context_.endpoint.send(0, kFromNodeTag, message.SerializeAsString());
}

void StageWorker::send_on(const Activation& header, Trace trace, std::span<const float> values) {
  Activation next = header;
  next.set_stage(header.stage() + 1);
  *next.mutable_trace() = std::move(trace);
  const std::int64_t bytes = encoded_bytes(job_.activations(), std::ssize(values));
  std::string payload = net::begin_payload(next.SerializeAsString(), static_cast<std::size_t>(bytes));
  codec_.append(payload, values);
  context_.endpoint.send(stages_.rank_of(header.stage() + 1), kActivationTag, std::move(payload));
}

}  // namespace mangrove::infer
