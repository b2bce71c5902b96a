#include "mangrove/plan/graph_layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "mangrove/graph/cut.h"
#include "mangrove/graph/operator.h"

namespace mangrove::plan {
namespace {

using Readers = std::map<std::string, std::vector<std::size_t>>;  // nodes, of each value

Readers readers_of(const Graph& graph) {
  Readers readers;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    for (const std::string& input : graph.nodes()[i].inputs) readers[input].push_back(i);
  return readers;
}

bool is_result(const Graph& graph, const std::string& value) {
  return std::ranges::count(graph.outputs(), value) > 0;
}

Bytes bytes_of(const ValueInfo& info, std::int64_t batch) {
  return info.shape.with_batch(batch).elements() * static_cast<Bytes>(size_of(info.dtype));
}

// Of each node the first of those that it cannot be parted from, itself where there are none: from the maker of a value
// that cannot travel to its last reader.
std::vector<std::size_t> first_of_range(const Graph& graph, Readers& readers) {
  std::vector<std::size_t> first;
  std::size_t begin = 0, end = 0;  // the range that was found last, behind its last node
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (i >= end) begin = i;
    first.push_back(begin);
    for (const std::string& output : graph.nodes()[i].outputs) {
      if (output.empty() || readers[output].empty() || can_travel(graph.value(output))) continue;
      end = std::max(end, readers[output].back() + 1);
    }
  }
  return first;
}

class Conversion {
 public:
  Conversion(const Graph& graph, std::span<const std::size_t> layer, std::int64_t batch, bool training)
      : graph_(graph), layer_(layer), batch_(batch), training_(training), readers_(readers_of(graph)) {
    for (const std::string& name : graph.parameters()) trained_.insert(name);
    made_.network.name = graph.name();
    made_.network.batch = batch;
    made_.nodes.resize(layer.empty() ? 0 : std::ranges::max(layer) + 1);
    for (std::size_t i = 0; i < layer.size(); ++i) made_.nodes[layer[i]].push_back(i);
  }

  GraphLayers run() {
    for (const auto& nodes : made_.nodes) add_layer(nodes);
    for (const auto& [name, info] : graph_.inputs())
      if (!graph_.initializers().contains(name)) add_flow(name, std::nullopt);
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
      for (const std::string& output : graph_.nodes()[i].outputs)
        if (!output.empty()) add_flow(output, layer_[i]);
    if (!training_) measure_living(made_.network);
    return std::move(made_);
  }

 private:
  void add_layer(const std::vector<std::size_t>& nodes) {
    Layer layer{graph_.nodes()[nodes.front()].name};
    std::set<std::string> inputs;
    for (const std::size_t i : nodes) {
      const Node& node = graph_.nodes()[i];
      inputs.insert(node.inputs.begin(), node.inputs.end());
      for (const std::string& output : node.outputs)
        if (training_ && !output.empty()) layer.activations += bytes_of(graph_.value(output), batch_);
    }
    for (const std::string& input : inputs)
      if (is_parameter(input)) layer.parameters += bytes_of(graph_.value(input), batch_);
    made_.network.layers.push_back(std::move(layer));
  }

  bool is_parameter(const std::string& value) const {
    return training_ ? trained_.contains(value) : graph_.initializers().contains(value);
  }

  void add_flow(const std::string& value, std::optional<std::size_t> from) {
    std::set<std::size_t> to;
    for (const std::size_t reader : readers_[value])
      if (layer_[reader] != from) to.insert(layer_[reader]);
    const bool is_wanted = is_result(graph_, value);
    if (to.empty() && !is_wanted) return;  // within a layer
    made_.network.flows.push_back({from, {to.begin(), to.end()}, is_wanted, bytes_of(graph_.value(value), batch_)});
  }

  const Graph& graph_;
  const std::span<const std::size_t> layer_;  // of each node
  const std::int64_t batch_;
  const bool training_;
  std::set<std::string> trained_;
  Readers readers_;
  GraphLayers made_;
};

}  // namespace

std::vector<std::size_t> fused_layers(const Graph& graph) {
  Readers readers = readers_of(graph);
  const std::vector<std::size_t> together = first_of_range(graph, readers);
  std::map<std::string, std::size_t> makers;  // layer that makes each value
  std::vector<std::size_t> layers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const Operator* row = find_operator(node.op);
    const bool is_activation = row != nullptr && row->activation && !node.inputs.empty();
    const auto maker = is_activation ? makers.find(node.inputs.front()) : makers.end();
    const bool begins_range = i + 1 < together.size() && together[i + 1] == i;  // which may read from nodes in between
    const bool is_sole =
        maker != makers.end() && !begins_range && readers[maker->first].size() == 1 && !is_result(graph, maker->first);
    if (together[i] != i) {
      layers.push_back(layers[together[i]]);
    } else {
      layers.push_back(is_sole ? maker->second : count++);
    }
    for (const std::string& output : node.outputs)
      if (!output.empty()) makers[output] = layers.back();
  }
  return layers;
}

GraphLayers layers_of(const Graph& graph, std::span<const std::size_t> layer, std::int64_t batch, bool training) {
  return Conversion(graph, layer, batch, training).run();
}

GraphLayers layers_of(const Graph& graph, std::int64_t batch, bool training) {
  return layers_of(graph, fused_layers(graph), batch, training);
}

}  // namespace mangrove::plan
