#include "mangrove/graph/graph.h"

#include <algorithm>
#include <set>

#include "mangrove/base/check.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/graph/element_type.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/node_inference.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/sample_order.h"
#include "mangrove/graph/topological_sort.h"

namespace mangrove {
namespace {

Status check_outputs(const GraphParts& parts, const Values& values) {
  if (parts.outputs.empty()) return make_error(Code::invalid_argument, "graph '" + parts.name + "' has no outputs");
  std::set<std::string> seen;
  for (const std::string& output : parts.outputs) {
    if (!values.contains(output)) {
      std::vector<std::string> known;
      for (const auto& [name, info] : values) known.push_back(name);
      return make_error(Code::invalid_argument,
                        "graph output '" + output + "' is not defined" + did_you_mean(output, known));
    }
    if (!seen.insert(output).second) {
      return make_error(Code::invalid_argument, "graph output '" + output + "' is listed twice");
    }
  }
  return {};
}

// Floating-point initializers at these positions of each node's inputs, in node order.
std::vector<std::string> initializers_at(const Graph& graph, std::vector<std::size_t> Operator::*positions) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Node& node : graph.nodes()) {
    for (const std::size_t position : find_operator(node.op)->*positions) {
      if (position >= node.inputs.size()) continue;
      const std::string& input = node.inputs[position];
      const auto found = graph.initializers().find(input);
      if (found == graph.initializers().end() || !is_floating(found->second.dtype())) continue;
      if (found->second.shape().rank() == 0) continue;  // a number in a formula: x * 0.5
      if (seen.insert(input).second) names.push_back(input);
    }
  }
  return names;
}

}  // namespace

Result<Graph> Graph::create(GraphParts parts) {
  Graph graph;
  MG_TRY(graph.values_, given_values(parts));
  MG_RETURN_IF_ERROR(check_names(parts, graph.values_));
  MG_TRY(parts.nodes, topological_sort(std::move(parts.nodes)));
  SampleOrder order;
  for (const Node& node : parts.nodes) {
    MG_RETURN_IF_ERROR(infer_node(node, parts.initializers, graph.values_));
    MG_RETURN_IF_ERROR(order.note(node, graph.values_));
  }
  MG_RETURN_IF_ERROR(check_outputs(parts, graph.values_));
  graph.parts_ = std::move(parts);
  return graph;
}

const ValueInfo& Graph::value(const std::string& name) const {
  const auto found = values_.find(name);
  MG_CHECK_MSG(found != values_.end(), "no value '" + name + "' in graph '" + parts_.name + "'");
  return found->second;
}

std::vector<std::string> Graph::parameters() const {
  return initializers_at(*this, &Operator::parameters);
}

std::vector<std::string> Graph::states() const {
  return initializers_at(*this, &Operator::states);
}

std::int64_t Graph::parameter_elements() const {
  std::int64_t elements = 0;
  for (const std::string& name : parameters()) elements += value(name).shape.elements();
  return elements;
}

Result<Graph> Graph::with_initializers(const std::map<std::string, Tensor>& replaced) const {
  GraphParts parts = parts_;
  for (const auto& [name, tensor] : replaced) {
    const auto found = parts.initializers.find(name);
    if (found == parts.initializers.end()) {
      return make_error(Code::not_found, "graph '" + parts_.name + "' has no initializer '" + name + "'");
    }
    const Tensor& old = found->second;
    if (tensor.dtype() != old.dtype() || tensor.shape() != old.shape()) {
      return make_error(Code::invalid_argument, "initializer '" + name + "' is " + dtype_name(tensor.dtype()) + " " +
                                                    to_string(tensor.shape()) + ", expected " +
                                                    dtype_name(old.dtype()) + " " + to_string(old.shape()));
    }
    found->second = tensor;
  }
  return create(std::move(parts));
}

Graph Graph::without_weights() const {
  Graph copy = *this;
  copy.has_weights_ = false;
  std::map<std::pair<DType, std::int64_t>, Tensor> zeros;  // one for all of its size
  for (const std::string& name : parameters()) {
    Tensor& weights = copy.parts_.initializers.at(name);
    const auto [same, is_new] = zeros.try_emplace({weights.dtype(), weights.elements()});
    if (is_new) {
      same->second = Tensor(weights.dtype(), weights.shape());
      release_zeros({same->second.data(), static_cast<std::size_t>(same->second.bytes())});  // of memory used before
    }
    weights = same->second.reshaped(weights.shape());
  }
  return copy;
}

OperatorCost node_cost(const Graph& graph, const Node& node, std::int64_t batch) {
  Values bound;
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) {
      if (name.empty()) continue;
      const ValueInfo& info = graph.value(name);
      bound[name] = {info.dtype, info.shape.with_batch(batch)};
    }
  }
  std::vector<ValueInfo> outputs;
  for (const std::string& output : node.outputs) outputs.push_back(output.empty() ? ValueInfo{} : bound.at(output));
  return find_operator(node.op)->cost(node, inputs_of(node, bound, graph.initializers()), outputs);
}

}  // namespace mangrove
