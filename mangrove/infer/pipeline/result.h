#pragma once

#include <span>

#include "mangrove/infer/pipeline/baseline.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/pipeline/stream.h"
#include "mangrove/infer/result.h"

namespace mangrove::infer {

struct FrameCounts;

/// Of a pipeline beside `baseline`. planned: what it began with.
PipelineResult pipeline_result(const InferJob& job, const Hello& data, const Baseline& baseline,
                               const StagePlan& planned, const StreamResult& streamed, const Answers& answers,
                               const Reports& reports);

/// Of a pipeline of frames that a client pushed. planned: what it began with.
PipelineResult frames_result(const InferJob& job, const StagePlan& planned, const StreamResult& streamed,
                             const FrameCounts& counts, const Reports& reports);

/// What was measured of each device, and which stages of the plan it has.
std::vector<DeviceReport> device_reports(const InferJob& job, std::span<const DeviceProfile> devices,
                                         const StagePlan& plan);

}  // namespace mangrove::infer
