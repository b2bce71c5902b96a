#include "mangrove/infer/stage_plan.h"

#include <algorithm>

#include "mangrove/graph/cut.h"
#include "mangrove/graph/operator.h"

namespace mangrove::infer {
namespace {

/// A cut before operator `i` keeps it from being fused into the operator before it.
bool parts_activation(const Graph& graph, std::size_t i) {
  const Node& node = graph.nodes()[i];
  const Operator* row = find_operator(node.op);
  const std::vector<std::string>& made = graph.nodes()[i - 1].outputs;
  return row != nullptr && row->activation && std::find(made.begin(), made.end(), node.inputs.front()) != made.end();
}

}  // namespace

Result<StagePlan> plan_stages(const Graph& graph, const Profile& profile, std::size_t stages,
                              std::int64_t micro_batch) {
  const std::size_t n = graph.nodes().size();
  if (static_cast<std::size_t>(profile.operator_seconds_size()) != n) {
    return make_error(Code::invalid_argument, "profile: of " + std::to_string(profile.operator_seconds_size()) +
                                                  " operators, the model has " + std::to_string(n));
  }
  const std::vector<double> costs(profile.operator_seconds().begin(), profile.operator_seconds().end());
  std::vector<double> cut_costs(n, 0.0);
  for (std::size_t i = 1; i < n; ++i) {
    const auto bytes = 4.0 * static_cast<double>(elements_at_cut(graph, i, micro_batch));
    cut_costs[i] = bytes / kCutBytesPerSecond * (parts_activation(graph, i) ? 2 : 1);
  }
  MG_TRY(const plan::Partition partition, plan::partition_chain(costs, stages, cut_costs));
  StagePlan plan;
  plan.read_seconds = profile.read_seconds();
  for (std::size_t s = 0; s < stages; ++s) {
    StagePlan::Stage stage{partition.begins[s], partition.end(s, n), {}, 0, 0};
    for (std::size_t i = stage.first; i < stage.last; ++i) {
      stage.operators.push_back(graph.nodes()[i].name);
      stage.seconds += costs[i];
    }
    if (stage.first > 0) stage.seconds += cut_costs[stage.first];
    if (stage.last < n) {
      stage.seconds += cut_costs[stage.last];
      stage.bytes_per_image = 4 * elements_at_cut(graph, stage.last, 1);
    }
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace mangrove::infer
