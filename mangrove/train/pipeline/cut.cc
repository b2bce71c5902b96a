#include "mangrove/train/pipeline/cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "mangrove/base/suggestion.h"
#include "mangrove/graph/cut.h"
#include "mangrove/plan/operator_times.h"
#include "mangrove/train/pipeline/stage_values.h"

namespace mangrove::train {
namespace {

constexpr double kFlopsPerSecond = 1e10, kBytesPerSecond = 5e9;
constexpr double kPasses = 3;  // of forward and backward together, in forward passes

bool is_cut(const std::vector<std::size_t>& positions, std::size_t position) {
  return std::binary_search(positions.begin(), positions.end(), position);
}

std::vector<StageRange> ranges_between(std::vector<std::size_t> cuts, std::size_t operators) {
  std::vector<StageRange> ranges;
  cuts.push_back(operators);
  std::size_t first = 0;
  for (const std::size_t cut : cuts) ranges.push_back({std::exchange(first, cut), cut});
  return ranges;
}

}  // namespace

std::vector<std::size_t> cut_positions(const Graph& graph) {
  const auto& nodes = graph.nodes();
  std::set<std::string> trained;
  for (const auto& names : {graph.parameters(), graph.states()}) trained.insert(names.begin(), names.end());
  std::map<std::string, std::size_t> first_use;
  std::set<std::size_t> within;  // uses of one parameter
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      if (!trained.contains(input)) continue;
      for (std::size_t position = first_use.emplace(input, i).first->second + 1; position <= i; ++position)
        within.insert(position);
    }
  }
  std::vector<std::size_t> positions;
  for (std::size_t position = 1; position < nodes.size(); ++position)
    if (!within.contains(position) && can_be_cut(graph, position).ok()) positions.push_back(position);
  return positions;
}

std::size_t most_stages(const Graph& graph) {
  return cut_positions(graph).size() + 1;
}

std::vector<double> computed_costs(const Graph& graph, std::int64_t samples) {
  std::vector<double> costs;
  for (const plan::OperatorProfile& one : plan::operators_of(graph, samples))
    costs.push_back(kPasses * (one.flops / kFlopsPerSecond + static_cast<double>(one.moved) / kBytesPerSecond));
  return costs;
}

Result<std::vector<StageRange>> cut_behind(const Graph& graph, std::span<const std::string> nodes) {
  const std::vector<std::size_t> positions = cut_positions(graph);
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  std::vector<std::size_t> cuts;
  for (const std::string& name : nodes) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return make_error(Code::not_found,
                        "cut: graph '" + graph.name() + "' has no node '" + name + "'" + suggestion(name, names));
    const auto position = static_cast<std::size_t>(found - names.begin()) + 1;
    if (!is_cut(positions, position) || (!cuts.empty() && position <= cuts.back()))
      return make_error(Code::invalid_argument,
                        "cut: graph '" + graph.name() + "' cannot be cut behind node '" + name +
                            "': the nodes must be in the graph's order, what crosses must be f32 [N, ...], and no "
                            "parameter may be used on both sides");
    cuts.push_back(position);
  }
  return ranges_between(std::move(cuts), graph.nodes().size());
}

Status check_stages(const TrainJob& job, const CutRule& rule, const Graph& graph, std::size_t nodes) {
  const std::size_t most = most_stages(graph);
  std::size_t wanted = static_cast<std::size_t>(job.stages());
  if (rule.kind == CutRule::Kind::behind) {
    MG_RETURN_IF_ERROR(cut_behind(graph, rule.nodes));
    if (wanted > 0 && wanted != rule.nodes.size() + 1)
      return make_error(Code::invalid_argument, "stages: cut names " + std::to_string(rule.nodes.size()) +
                                                    " nodes, which makes " + std::to_string(rule.nodes.size() + 1) +
                                                    " stages, got " + std::to_string(wanted));
    wanted = rule.nodes.size() + 1;
  }
  const std::string stages = "stages: " + std::to_string(wanted) + " stages ";
  if (wanted > most)
    return make_error(Code::invalid_argument,
                      stages + "cannot be cut from graph '" + graph.name() + "', at most " + std::to_string(most));
  if (wanted > nodes)
    return make_error(Code::invalid_argument, stages + "need as many nodes, got " + std::to_string(nodes));
  return {};
}

Result<StageSizes> stage_sizes(const Graph& graph, const StageRange& range) {
  MG_TRY(const Graph slice, graph.slice(range.first, range.last));
  StageSizes sizes{static_cast<std::size_t>(slice.parameter_elements())};
  for (const std::string& name : slice.states())
    sizes.states += static_cast<std::size_t>(slice.value(name).shape.elements());
  return sizes;
}

Bytes crossing_bytes(const Graph& graph, const StageRange& range, std::int64_t samples) {
  const std::int64_t behind = range.last < graph.nodes().size() ? elements_at_cut(graph, range.last, samples) : 0;
  return (elements_at_cut(graph, range.first, samples) + behind) * kFloatBytes;
}

}  // namespace mangrove::train
