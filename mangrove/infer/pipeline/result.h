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

/// The figures of the answers to the samples of a data set. baseline: what they are compared with; null: nothing.
/// seconds: from the first micro-batch sent to the last one answered.
void set_figures(const InferJob& job, const Hello& data, const Baseline* baseline, const Answers& answers,
                 Seconds seconds, StreamedResult& result);
/// The figures of the answers to frames that a client pushed.
void set_figures(const InferJob& job, const FrameCounts& counts, Seconds seconds, StreamedResult& result);
/// What nodes have sent to each other, encoded as the job says, and how much less that is than float32 would have been.
/// result: its other figures are set.
void set_activations(const InferJob& job, Bytes sent, StreamedResult& result);

/// The result of a pipeline. baseline: what it is compared with; null: nothing. planned: the first plan.
PipelineResult pipeline_result(const InferJob& job, const Hello& data, const Baseline* baseline,
                               const StagePlan& planned, const StreamResult& streamed, const Answers& answers,
                               const Reports& reports);

/// The result of a pipeline for frames that a client pushed. planned: the first plan.
PipelineResult frames_result(const InferJob& job, const StagePlan& planned, const StreamResult& streamed,
                             const FrameCounts& counts, const Reports& reports);

/// The measured profile of each device, and its stages in the plan.
std::vector<DeviceReport> device_reports(const InferJob& job, std::span<const DeviceProfile> devices,
                                         const StagePlan& plan);

}  // namespace mangrove::infer
