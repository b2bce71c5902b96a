#include "mangrove/infer/pipeline/single.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/measurements.h"
#include "mangrove/infer/pipeline/result.h"
#include "mangrove/infer/pipeline/worker.h"
#include "mangrove/infer/rows.h"

namespace mangrove::infer {
namespace {

Status lead(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  const Seconds timeout = job.answer_timeout_s();
  MG_TRY(const Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hello data, nodes.gather());
  MG_RETURN_IF_ERROR(check_data(job, graph, data, data.classes_size()));
  MG_TRY(const std::vector<DeviceProfile> devices, measure_devices(context, nodes, reports, timeout));
  MG_TRY(const Baseline baseline, run_baseline(context, nodes, reports, timeout, data, fastest_first(devices)));
  SingleResult result;
  result.all = result_of(job, data, baseline.truths, baseline.predictions, baseline.seconds);
  result.all.model_bytes = nodes.model_bytes();
  result.node = reports.node(baseline.rank);
  result.devices = device_reports(job, devices, {});
  reports.result(result);
  return {};
}

}  // namespace

Status run_single(const InferJob& job, job::RoleContext& context) {
  if (context.endpoint.rank() != 0) return run_node(job, context);
  return lead_nodes(job, context,
                    [&](NodeRoster& nodes, Reports& reports) { return lead(job, context, nodes, reports); });
}

Strategy rows::single() {
  return {
      {.name = "single", .summary = "the whole network on the fastest node", .on_loss = "the next fastest begins anew"},
      {},
      &run_single};
}

}  // namespace mangrove::infer
