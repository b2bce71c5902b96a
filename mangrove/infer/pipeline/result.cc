#include "mangrove/infer/pipeline/result.h"

#include <algorithm>
#include <cmath>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/frame_counts.h"

namespace mangrove::infer {
namespace {

/// One for each replica of each stage.
std::vector<StageReport> stage_reports(const StreamResult& streamed, const Reports& reports) {
  std::vector<StageReport> all;
  const StagePlan& plan = streamed.plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan::Stage& stage = plan.stages[s];
    for (const StagePlan::Replica& replica : stage.replicas) {
      const auto found = streamed.records.find({s, replica.rank});
      const StageRecord record = found == streamed.records.end() ? StageRecord{} : found->second;
      const double micro_batches = std::max<double>(1, static_cast<double>(record.micro_batches));
      all.push_back({.stage = s,
                     .node = reports.node(replica.rank),
                     .operators = stage.operators,
                     .micro_batches = record.micro_batches,
                     .seconds = record.busy,
                     .busy = record.busy / micro_batches,
                     .predicted_busy = replica.busy,
                     .utilisation = streamed.planned_seconds > 0 ? record.busy / streamed.planned_seconds : 0,
                     .predicted_utilisation = plan.period > 0 ? stage.period() / plan.period : 0,
                     .queue_mean = static_cast<double>(record.queued) / micro_batches,
                     .queue_max = record.most_queued,
                     .resident = record.resident,
                     .predicted_resident = replica.memory,
                     .sent_bytes = record.sent_bytes,
                     .bytes_per_image = stage.bytes_per_image});
    }
  }
  return all;
}

Bytes sent_bytes(const StreamResult& streamed) {
  Bytes sent = 0;
  for (const auto& [holder, record] : streamed.records) sent += record.sent_bytes;
  return sent;
}

/// What a pipeline reports whatever streams through it.
void add_stream(const InferJob& job, const StagePlan& planned, const StreamResult& streamed, const Reports& reports,
                PipelineResult& result) {
  const std::int64_t images = result.all.images;
  const std::int64_t micro_batches = std::max<std::int64_t>(1, (images + job.micro_batch() - 1) / job.micro_batch());
  result.repeated = streamed.repeated;
  result.window = window(job, planned);
  result.predicted_seconds = planned.seconds(micro_batches);
  result.predicted_images_per_s = per_second(images, result.predicted_seconds);
  result.predicted_latency = planned.latency;
  result.limited_by = planned.limited_by;
  set_activations(job, sent_bytes(streamed), result);
  result.stages = stage_reports(streamed, reports);
}

/// in_time: images that were answered.
void compare(const Baseline& baseline, const Answers& answers, std::int64_t in_time, StreamedResult& result) {
  std::int64_t agreeing = 0;
  for (std::size_t i = 0; i < answers.predictions.size(); ++i)
    agreeing += answers.predictions[i] == baseline.predictions[i] ? 1 : 0;
  const double single = per_second(std::ssize(baseline.predictions), baseline.seconds);
  result.single_images_per_s = single;
  result.speedup = single > 0 ? result.all.images_per_s / single : 0;
  result.agreement = in_time > 0 ? static_cast<double>(agreeing) / static_cast<double>(in_time) : 1;
}

}  // namespace

void set_figures(const InferJob& job, const Hello& data, const Baseline* baseline, const Answers& answers,
                 Seconds seconds, StreamedResult& result) {
  std::int64_t lost = 0, duplicated = 0;
  for (const std::int32_t times : answers.deliveries) {
    lost += times == 0 ? 1 : 0;
    duplicated += std::max(0, times - 1);
  }
  const std::int64_t in_time = data.samples() - answers.missed;
  result.all =
      result_of(job, data, baseline != nullptr ? baseline->truths : answers.truths, answers.predictions, seconds);
  result.all.images_per_s = per_second(in_time, seconds);
  if (baseline != nullptr) compare(*baseline, answers, in_time, result);
  result.lost = lost;
  result.duplicated = duplicated;
  result.missed = answers.missed;
  std::vector<Seconds> latencies;
  for (const std::optional<Seconds>& latency : answers.latencies)
    if (latency) latencies.push_back(*latency);
  result.latency = Latency(std::move(latencies));
}

void set_figures(const InferJob& job, const FrameCounts& counts, Seconds seconds, StreamedResult& result) {
  result.all.strategy = job.strategy();
  result.all.images = counts.frames;
  result.all.images_per_s = per_second(counts.frames - counts.missed - counts.unreadable, seconds);
  result.all.seconds = seconds;
  result.all.micro_batch = job.micro_batch();
  result.unreadable = counts.unreadable;
  result.missed = counts.missed;
  result.latency = Latency({counts.latencies.begin(), counts.latencies.end()});
}

void set_activations(const InferJob& job, Bytes sent, StreamedResult& result) {
  constexpr std::int64_t kBlock = 256;  // a whole one of each encoding
  const double times = 4.0 * kBlock / static_cast<double>(encoded_bytes(job.activations(), kBlock));
  result.activations = {.encoding = job.activations().empty() ? "float32" : job.activations(),
                        .sent_bytes = sent,
                        .saved_bytes = std::llround(static_cast<double>(sent) * (times - 1)),
                        .changed_predictions = {}};
  if (result.agreement) result.activations.changed_predictions = 1 - *result.agreement;
}

PipelineResult pipeline_result(const InferJob& job, const Hello& data, const Baseline* baseline,
                               const StagePlan& planned, const StreamResult& streamed, const Answers& answers,
                               const Reports& reports) {
  PipelineResult result;
  set_figures(job, data, baseline, answers, streamed.seconds, result);
  add_stream(job, planned, streamed, reports, result);
  return result;
}

PipelineResult frames_result(const InferJob& job, const StagePlan& planned, const StreamResult& streamed,
                             const FrameCounts& counts, const Reports& reports) {
  PipelineResult result;
  set_figures(job, counts, streamed.seconds, result);
  add_stream(job, planned, streamed, reports, result);
  return result;
}

std::vector<DeviceReport> device_reports(const InferJob& job, std::span<const DeviceProfile> devices,
                                         const StagePlan& plan) {
  std::vector<DeviceReport> all;
  for (const DeviceProfile& device : devices) {
    std::vector<std::size_t> stages;
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
      if (plan.stages[s].has(device.rank)) stages.push_back(s);
    all.push_back({.node = device.name,
                   .stages = std::move(stages),
                   .predicted_images_per_s = per_second(job.micro_batch(), device.single_seconds()),
                   .profile = device.was_kept ? "kept" : "measured",
                   .cores = device.cores,
                   .rate = device.rate,
                   .round_trip = device.round_trip});
  }
  return all;
}

}  // namespace mangrove::infer
