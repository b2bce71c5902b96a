#include "mangrove/infer/pipeline/measured_network.h"

#include <algorithm>
#include <utility>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/measurements.h"

namespace mangrove::infer {

Result<MeasuredNetwork> measure_network(const InferJob& job, Graph graph, job::RoleContext& context, NodeRoster& nodes,
                                        Reports& reports) {
  nodes.serve_weights(graph);
  MG_TRY(Hello data, nodes.gather());
  MG_RETURN_IF_ERROR(check_data(job, graph, data, data.classes_size()));
  MG_TRY(std::vector<DeviceProfile> devices, measure_devices(context, nodes, reports, job.answer_timeout_s()));
  return MeasuredNetwork{std::move(graph), std::move(data), std::move(devices)};
}

bool has_network(const NodeRoster& nodes, net::Rank rank) {
  return !nodes.hello(rank).without_network();
}

Result<std::optional<Baseline>> find_baseline(const InferJob& job, const job::RoleContext& context, NodeRoster& nodes,
                                              Reports& reports, MeasuredNetwork& measured) {
  const net::RankSet usable = nodes.usable();
  const bool is_possible = std::ranges::any_of(usable, [&](net::Rank rank) { return has_network(nodes, rank); });
  if (job.baseline() == kNoBaseline || !is_possible) return std::optional<Baseline>();
  MG_TRY(Baseline baseline,
         run_baseline(context, nodes, reports, job.answer_timeout_s(), measured.data, fastest_first(measured.devices)));
  const auto micro_batches = static_cast<double>(baseline.predictions.size()) / static_cast<double>(job.micro_batch());
  calibrate(measured.devices, baseline.rank, baseline.seconds / micro_batches);
  return std::optional<Baseline>(std::move(baseline));
}

}  // namespace mangrove::infer
