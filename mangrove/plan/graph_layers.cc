#include "mangrove/plan/graph_layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "mangrove/graph/operator.h"

namespace mangrove::plan {
namespace {

Bytes bytes_of(const ValueInfo& info, std::int64_t batch) {
  return info.shape.with_batch(batch).elements() * static_cast<Bytes>(size_of(info.dtype));
}

class Conversion {
 public:
  Conversion(const Graph& graph, std::int64_t batch, bool training)
      : graph_(graph), batch_(batch), training_(training) {
    made_.network.name = graph.name();
    made_.network.batch = batch;
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
      for (const std::string& input : graph.nodes()[i].inputs) readers_[input].push_back(i);
  }

  GraphLayers run() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) add_node(i);
    for (const auto& [name, info] : graph_.inputs())
      if (!graph_.initializers().contains(name)) add_flow(name, std::nullopt);
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
      for (const std::string& output : graph_.nodes()[i].outputs)
        if (!output.empty()) add_flow(output, layer_[i]);
    if (!training_) measure_living(made_.network);
    return std::move(made_);
  }

 private:
  bool is_result(const std::string& value) const { return std::ranges::count(graph_.outputs(), value) > 0; }

  /// The layer that the node belongs to.
  std::size_t layer_for(std::size_t i) {
    const Node& node = graph_.nodes()[i];
    const Operator* row = find_operator(node.op);
    if (row != nullptr && row->activation && !node.inputs.empty()) {
      const auto maker = maker_.find(node.inputs.front());
      const bool is_sole = readers_[node.inputs.front()].size() == 1 && !is_result(node.inputs.front());
      if (maker != maker_.end() && is_sole) return layer_[maker->second];
    }
    made_.network.layers.push_back({node.name});
    made_.nodes.emplace_back();
    return made_.nodes.size() - 1;
  }

  void add_node(std::size_t i) {
    const Node& node = graph_.nodes()[i];
    layer_.push_back(layer_for(i));
    Layer& layer = made_.network.layers[layer_[i]];
    made_.nodes[layer_[i]].push_back(i);
    for (const std::string& input : std::set<std::string>(node.inputs.begin(), node.inputs.end()))
      if (const auto found = graph_.initializers().find(input); found != graph_.initializers().end())
        layer.parameters += bytes_of(graph_.value(input), batch_);
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      maker_[output] = i;
      if (training_) layer.activations += bytes_of(graph_.value(output), batch_);
    }
  }

  void add_flow(const std::string& value, std::optional<std::size_t> from) {
    std::set<std::size_t> to;
    for (const std::size_t reader : readers_[value])
      if (layer_[reader] != from) to.insert(layer_[reader]);
    if (to.empty() && !is_result(value)) return;  // within a layer
    made_.network.flows.push_back(
        {from, {to.begin(), to.end()}, is_result(value), bytes_of(graph_.value(value), batch_)});
  }

  const Graph& graph_;
  const std::int64_t batch_;
  const bool training_;
  std::map<std::string, std::vector<std::size_t>> readers_;  // nodes, of each value
  std::map<std::string, std::size_t> maker_;
  std::vector<std::size_t> layer_;  // of each node
  GraphLayers made_;
};

}  // namespace

GraphLayers layers_of(const Graph& graph, std::int64_t batch, bool training) {
  return Conversion(graph, batch, training).run();
}

}  // namespace mangrove::plan
