#include "mangrove/infer/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/frame_listener.h"
#include "mangrove/infer/pipeline/frame_work.h"
#include "mangrove/infer/pipeline/measured_network.h"
#include "mangrove/infer/pipeline/result.h"
#include "mangrove/infer/pipeline/trust.h"
#include "mangrove/infer/pipeline/worker.h"
#include "mangrove/infer/rows.h"

namespace mangrove::infer {
namespace {

Result<MeasuredNetwork> measure(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_RETURN_IF_ERROR(check_cut(graph, job));
  return measure_network(job, std::move(graph), context, nodes, reports);
}

Result<StreamResult> stream(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                            const MeasuredNetwork& measured, const StagePlan& plan, StreamWork& work,
                            std::optional<SpotChecks>& checks, bool has_known) {
  if (checks && !std::ranges::all_of(nodes.usable(), [&](net::Rank rank) { return has_network(nodes, rank); }))
    return make_error(
        Code::resource_exhausted,
        "trust: spot checks find out whose answers are wrong by giving each device the whole network, and "
        "some have not the memory for it");
  if (checks) MG_RETURN_IF_ERROR(check_trust(job, plan, nodes.usable().size(), has_known, reports));
  Replanner replanner(measured.graph, measured.devices, job);
  return stream_through(job, context, nodes, reports, work, plan, replanner, checks ? &*checks : nullptr);
}

/// Known answers of a liar are good for nothing.
Status redo_if_wrong(const InferJob& job, const job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                     const MeasuredNetwork& measured, const std::optional<SpotChecks>& checks,
                     std::optional<Baseline>& baseline) {
  if (!checks || !baseline || !checks->record(baseline->rank).is_quarantined) return {};
  reports.redone("single", baseline->rank);
  MG_TRY(baseline,
         run_baseline(context, nodes, reports, job.answer_timeout_s(), measured.data, fastest_first(measured.devices)));
  return {};
}

void report_result(const InferJob& job, const NodeRoster& nodes, Reports& reports, const MeasuredNetwork& measured,
                   const StreamResult& streamed, PipelineResult result) {
  result.all.model_bytes = nodes.model_bytes();
  result.devices = device_reports(job, measured.devices, streamed.plan);
  reports.result(result);
}

Status lead_dataset(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_TRY(MeasuredNetwork measured, measure(job, context, nodes, reports));
  MG_TRY(std::optional<Baseline> baseline, find_baseline(job, context, nodes, reports, measured));
  MG_TRY(const StagePlan plan, plan_stages(measured.graph, measured.devices, job));
  DatasetWork work(job, measured.data, window(job, plan), reports);
  std::optional<SpotChecks> checks = make_spot_checks(job, context);
  if (checks && baseline) checks->know(baseline->rank, baseline->predictions, job.micro_batch());
  const bool has_known = baseline.has_value();
  MG_TRY(const StreamResult streamed, stream(job, context, nodes, reports, measured, plan, work, checks, has_known));
  MG_RETURN_IF_ERROR(redo_if_wrong(job, context, nodes, reports, measured, checks, baseline));
  PipelineResult result =
      pipeline_result(job, measured.data, baseline ? &*baseline : nullptr, plan, streamed, work.answers(), reports);
  if (checks) result.trust = trust_report(job, *checks, has_known, streamed, reports);
  report_result(job, nodes, reports, measured, streamed, std::move(result));
  return {};
}

/// There is nothing to compare frames with: no truth, and no second pass over them.
Status lead_frames(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_TRY(const MeasuredNetwork measured, measure(job, context, nodes, reports));
  MG_TRY(const StagePlan plan, plan_stages(measured.graph, measured.devices, job));
  const FrameListener listener(context);
  FrameWork work(job, *context.frames, {measured.data.classes().begin(), measured.data.classes().end()},
                 window(job, plan), reports);
  std::optional<SpotChecks> checks = make_spot_checks(job, context);
  MG_TRY(const StreamResult streamed, stream(job, context, nodes, reports, measured, plan, work, checks, false));
  PipelineResult result = frames_result(job, plan, streamed, work.counts(), reports);
  if (checks) result.trust = trust_report(job, *checks, false, streamed, reports);
  report_result(job, nodes, reports, measured, streamed, std::move(result));
  return {};
}

}  // namespace

Status run_pipeline(const InferJob& job, job::RoleContext& context) {
  if (context.endpoint.rank() != 0) return run_node(job, context);
  if (job.frames() && context.frames == nullptr)
    return make_error(Code::invalid_argument, "input: nobody pushes frames to this job");
  return lead_nodes(job, context, [&](NodeRoster& nodes, Reports& reports) {
    return job.frames() ? lead_frames(job, context, nodes, reports) : lead_dataset(job, context, nodes, reports);
  });
}

Strategy rows::pipeline() {
  return {
      {.name = "pipeline",
       .summary = "stages of the network on different nodes, fed with micro-batches (Huang et al., GPipe, NeurIPS "
                  "2019; forward only)",
       .on_loss = "the stages of a lost node move to a spare one, or all are cut anew for the others; micro-batches "
                  "without an answer are sent again"},
      {.takes_requests = true, .checks_answers = true},
      &run_pipeline};
}

}  // namespace mangrove::infer
