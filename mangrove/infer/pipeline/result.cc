#include "mangrove/infer/pipeline/result.h"

#include <algorithm>
#include <cmath>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/pipeline/activation_codec.h"
#include "mangrove/infer/pipeline/frame_counts.h"

namespace mangrove::infer {
namespace {

/// One object for each replica of each stage.
Json stages_json(const StreamResult& streamed, const Reports& reports) {
  Json all = Json::array();
  const StagePlan& plan = streamed.plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan::Stage& stage = plan.stages[s];
    for (const StagePlan::Replica& replica : stage.replicas) {
      const auto found = streamed.records.find({s, replica.rank});
      const StageRecord record = found == streamed.records.end() ? StageRecord{} : found->second;
      const double micro_batches = std::max<double>(1, static_cast<double>(record.micro_batches));
      all.push_back({{"stage", s},
                     {"node", reports.node(replica.rank)},
                     {"operators", stage.operators},
                     {"micro_batches", record.micro_batches},
                     {"seconds", record.busy},
                     {"busy_s", record.busy / micro_batches},
                     {"predicted_busy_s", replica.busy},
                     {"utilisation", streamed.planned_seconds > 0 ? record.busy / streamed.planned_seconds : 0},
                     {"predicted_utilisation", plan.period > 0 ? stage.period() / plan.period : 0},
                     {"queue_mean", static_cast<double>(record.queued) / micro_batches},
                     {"queue_max", record.most_queued},
                     {"rss_bytes", record.resident},
                     {"predicted_rss_bytes", replica.memory},
                     {"sent_bytes", record.sent_bytes},
                     {"bytes_per_image", stage.bytes_per_image}});
    }
  }
  return all;
}

/// How many bytes the encoding of the activations has saved, of those that float32 would have taken.
Json activations_json(const InferJob& job, const StreamResult& streamed) {
  constexpr std::int64_t kBlock = 256;  // a whole one of each encoding
  std::int64_t sent = 0;
  for (const auto& [holder, record] : streamed.records) sent += record.sent_bytes;
  const double times = 4.0 * kBlock / static_cast<double>(encoded_bytes(job.activations(), kBlock));
  return {{"encoding", job.activations().empty() ? "float32" : job.activations()},
          {"sent_bytes", sent},
          {"saved_bytes", std::llround(static_cast<double>(sent) * (times - 1))}};
}

/// What a pipeline reports whatever streams through it.
Json stream_json(const InferJob& job, const StagePlan& planned, const StreamResult& streamed, std::int64_t images,
                 const Reports& reports) {
  const std::int64_t micro_batches = std::max<std::int64_t>(1, (images + job.micro_batch() - 1) / job.micro_batch());
  return {{"repeated", streamed.repeated},
          {"window", window(job, planned)},
          {"predicted_images_per_s", per_second(images, planned.seconds(micro_batches))},
          {"predicted_seconds", planned.seconds(micro_batches)},
          {"predicted_latency_s", planned.latency},
          {"limited_by", planned.limited_by},
          {"activations", activations_json(job, streamed)},
          {"stages", stages_json(streamed, reports)}};
}

}  // namespace

Json pipeline_json(const InferJob& job, const Hello& data, const Baseline& baseline, const StagePlan& planned,
                   const StreamResult& streamed, const Answers& answers, const Reports& reports) {
  std::int64_t lost = 0, duplicated = 0, agreeing = 0;
  for (std::size_t i = 0; i < answers.predictions.size(); ++i) {
    lost += answers.deliveries[i] == 0 ? 1 : 0;
    duplicated += std::max(0, answers.deliveries[i] - 1);
    agreeing += answers.predictions[i] == baseline.predictions[i] ? 1 : 0;
  }
  const std::int64_t images = data.samples(), in_time = images - answers.missed;
  const double rate = per_second(in_time, streamed.seconds), single = per_second(images, baseline.seconds);
  const double agreement = in_time > 0 ? static_cast<double>(agreeing) / static_cast<double>(in_time) : 1;
  Json json = answers_json(job, data, baseline.truths, answers.predictions, streamed.seconds);
  json.update({{"images_per_s", rate},
               {"single_images_per_s", single},
               {"speedup", single > 0 ? rate / single : 0},
               {"agreement", agreement},
               {"lost", lost},
               {"duplicated", duplicated},
               {"missed", answers.missed},
               {"latency", latency_json(answers.latencies)}});
  json.update(stream_json(job, planned, streamed, images, reports));
  json["activations"]["changed_predictions"] = 1 - agreement;
  return json;
}

Json frames_json(const InferJob& job, const StagePlan& planned, const StreamResult& streamed, const FrameCounts& counts,
                 const Reports& reports) {
  Json json = {{"strategy", job.strategy()},
               {"images", counts.frames},
               {"unreadable", counts.unreadable},
               {"missed", counts.missed},
               {"images_per_s", per_second(counts.frames - counts.missed - counts.unreadable, streamed.seconds)},
               {"seconds", streamed.seconds},
               {"micro_batch", job.micro_batch()},
               {"latency", latency_json({counts.latencies.begin(), counts.latencies.end()})}};
  json.update(stream_json(job, planned, streamed, counts.frames, reports));
  return json;
}

Json devices_json(const InferJob& job, std::span<const DeviceProfile> devices, const StagePlan& plan) {
  Json all = Json::array();
  for (const DeviceProfile& device : devices) {
    Json stages = Json::array();
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
      if (plan.stages[s].has(device.rank)) stages.push_back(s);
    all.push_back({{"node", device.name},
                   {"stages", std::move(stages)},
                   {"predicted_images_per_s", per_second(job.micro_batch(), device.single_seconds())},
                   {"profile", device.was_kept ? "kept" : "measured"},
                   {"cores", device.cores},
                   {"rate", device.rate},
                   {"round_trip_s", device.round_trip}});
  }
  return all;
}

}  // namespace mangrove::infer
