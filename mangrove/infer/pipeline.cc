#include "mangrove/infer/pipeline.h"

#include <algorithm>

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/measurements.h"
#include "mangrove/infer/node.h"
#include "mangrove/infer/result.h"

namespace mangrove::infer {
namespace {

/// For the ranks that are left of a run. One that came too late to be measured is taken for such as the first other.
/// Where there are fewer than stages were asked for, there are as many as are worth it.
Result<StagePlan> plan_again(const Graph& graph, const std::vector<DeviceProfile>& measured, InferJob job,
                             const net::RankSet& ranks) {
  std::vector<DeviceProfile> devices;
  for (const net::Rank rank : ranks) {
    const auto found = std::ranges::find(measured, rank, &DeviceProfile::rank);
    devices.push_back(found == measured.end() ? measured.front() : *found);
    devices.back().rank = rank;
  }
  if (std::max(job.stages(), job.cuts_size() + 1) > std::ssize(ranks)) {
    job.set_stages(0);
    job.clear_cuts();
  }
  return plan_stages(graph, devices, job);
}

Status lead(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports) {
  const Seconds timeout = answer_timeout(job);
  MG_TRY(const Graph graph, parse_onnx(job.model()).context("model"));
  MG_RETURN_IF_ERROR(check_cut(graph, job));
  MG_TRY(const Hello data, nodes.gather());
  MG_RETURN_IF_ERROR(check_data(job, graph, data, data.classes_size()));
  MG_TRY(const std::vector<DeviceProfile> devices, measure_devices(context, nodes, reports, timeout));
  MG_TRY(const StagePlan plan, plan_stages(graph, devices, job));
  MG_TRY(const Baseline baseline, run_baseline(context, nodes, reports, timeout, data, fastest_first(devices)));
  const auto replan = [&](const net::RankSet& ranks) { return plan_again(graph, devices, job, ranks); };
  MG_TRY(const StreamResult streamed, stream_through(job, context, nodes, reports, data, plan, replan));
  Json result = pipeline_json(job, data, baseline, plan, streamed, reports);
  result["model_bytes"] = nodes.model_bytes();
  result["devices"] = devices_json(job, devices, streamed.plan);
  reports.result(dump(result));
  return {};
}

}  // namespace

Status run_pipeline(const InferJob& job, net::RoleContext& context) {
  if (context.endpoint.rank() != 0) return run_node(job, context);
  return lead_nodes(job, context, [&](Nodes& nodes, Reports& reports) { return lead(job, context, nodes, reports); });
}

}  // namespace mangrove::infer
