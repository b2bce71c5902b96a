#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "mangrove/infer/pipeline/baseline.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/infer/pipeline/stream.h"

namespace mangrove::infer {

struct FrameCounts;

/// The parts of a result, as JSON; docs/json.md lists their keys.
using Json = nlohmann::ordered_json;

double per_second(std::int64_t images, Seconds seconds);

/// Their percentiles.
Json latency_json(std::vector<Seconds> latencies);

/// What every strategy reports alike. predictions: per sample; -1: it has got no answer, and is left out of the
/// accuracy.
Json answers_json(const InferJob& job, const Hello& data, std::span<const std::int32_t> truths,
                  std::span<const std::int32_t> predictions, Seconds seconds);

/// Of a pipeline beside `baseline`. planned: what it began with.
Json pipeline_json(const InferJob& job, const Hello& data, const Baseline& baseline, const StagePlan& planned,
                   const StreamResult& streamed, const Answers& answers, const Reports& reports);

/// Of a pipeline of frames that a client pushed. planned: what it began with.
Json frames_json(const InferJob& job, const StagePlan& planned, const StreamResult& streamed, const FrameCounts& counts,
                 const Reports& reports);

/// What was measured of each device, and which stages of the plan it has.
Json devices_json(const InferJob& job, std::span<const DeviceProfile> devices, const StagePlan& plan);

}  // namespace mangrove::infer
