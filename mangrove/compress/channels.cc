#include "mangrove/compress/channels.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace mangrove::compress {
namespace {

/// Of one operand, each channel by itself.
const std::set<std::string> kKeepChannels = {"Abs",           "AveragePool", "BatchNormalization",
                                             "Clip",          "Dropout",     "Elu",
                                             "Erf",           "Exp",         "GlobalAveragePool",
                                             "GlobalMaxPool", "HardSwish",   "Identity",
                                             "LeakyRelu",     "MaxPool",     "HardSigmoid",
                                             "Neg",           "Relu",        "Selu",
                                             "Sigmoid",       "Softplus",    "Sqrt",
                                             "Tanh"};
/// Of several operands that are added up, multiplied ... element by element.
const std::set<std::string> kCombine = {"Add", "Div", "Max", "Min", "Mul", "PRelu", "Sub", "Sum"};

bool has(const std::set<std::string>& operators, const Node& node) {
  return operators.contains(node.op);
}

std::size_t elements_from(const Shape& shape, std::size_t first) {
  std::size_t elements = 1;
  for (std::size_t i = first; i < shape.rank(); ++i) elements *= static_cast<std::size_t>(shape[i]);
  return elements;
}

/// The tensor without some indices of one dimension.
Tensor without_indices(const Tensor& tensor, std::size_t axis, const std::vector<bool>& is_lost) {
  std::vector<std::int64_t> dims(tensor.shape().begin(), tensor.shape().end());
  dims[axis] = std::ranges::count(is_lost, false);
  Tensor result(tensor.dtype(), Shape(dims));
  const std::size_t run = elements_from(tensor.shape(), axis + 1) * size_of(tensor.dtype());
  const auto rows = static_cast<std::size_t>(tensor.shape()[axis]);
  const std::size_t blocks =
      rows == 0 ? 0 : static_cast<std::size_t>(tensor.bytes()) / std::max<std::size_t>(1, rows * run);
  const std::byte* from = tensor.data();
  std::byte* to = result.data();
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t row = 0; row < rows; ++row, from += run) {
      if (is_lost[row]) continue;
      std::memcpy(to, from, run);
      to += run;
    }
  }
  return result;
}

/// The dimension of an operand that lies beside dimension 1 of a value of this rank, where it has as many channels.
std::optional<std::size_t> channel_dimension(const Shape& operand, std::size_t rank, std::size_t channels) {
  if (operand.rank() + 1 < rank || operand.rank() > rank) return std::nullopt;
  const std::size_t dimension = operand.rank() + 1 - rank;
  if (dimension >= operand.rank() || operand[dimension] != static_cast<std::int64_t>(channels)) return std::nullopt;
  return channels > 1 ? std::optional(dimension) : std::nullopt;
}

std::size_t output_axis(const Node& node) {
  return node.op == "Conv" || (node.op == "Gemm" && node.int_or("transB", 0) == 1) ? 0 : 1;
}

}  // namespace

ChannelGroups::ChannelGroups(const Graph& graph) : graph_(graph) {
  for (const Node& node : graph.nodes())
    for (const std::string& input : node.inputs) ++uses_[input];
  for (const auto& [name, info] : graph.inputs()) channels_[name] = fresh(name, true);
  for (const Node& node : graph.nodes()) visit(node);
  for (const std::string& output : graph.outputs()) fix(channels_of(output));
}

ChannelGroups::Channel ChannelGroups::add(bool is_fixed) {
  parents_.push_back(parents_.size());
  fixed_.push_back(is_fixed);
  return parents_.size() - 1;
}

ChannelGroups::Channel ChannelGroups::root(Channel channel) const {
  while (parents_[channel] != channel) channel = parents_[channel] = parents_[parents_[channel]];
  return channel;
}

void ChannelGroups::unite(Channel a, Channel b) {
  const Channel first = root(a), second = root(b);
  parents_[second] = first;
  fixed_[first] = fixed_[first] || fixed_[second];
}

void ChannelGroups::unite(const Channels& a, const Channels& b) {
  for (std::size_t i = 0; i < a.size(); ++i) unite(a[i], b[i]);
}

void ChannelGroups::fix(const Channels& channels) {
  for (const Channel channel : channels) fixed_[root(channel)] = true;
}

ChannelGroups::Channels ChannelGroups::fresh(const std::string& value, bool is_fixed) {
  const Shape& shape = graph_.value(value).shape;
  Channels channels;
  for (std::int64_t i = 0; shape.rank() > 1 && i < shape[1]; ++i) channels.push_back(add(is_fixed));
  return channels;
}

const ChannelGroups::Channels& ChannelGroups::channels_of(const std::string& value) {
  const auto [found, is_new] = channels_.try_emplace(value);
  if (is_new) found->second = fresh(value, true);
  return found->second;
}

bool ChannelGroups::is_used_once(const std::string& initializer) const {
  return graph_.initializers().contains(initializer) && uses_.at(initializer) == 1;
}

bool ChannelGroups::is_layer(const Node& node) const {
  const bool is_product = node.op == "Gemm" || node.op == "MatMul";
  if (node.op != "Conv" && !is_product) return false;
  if (!is_used_once(node.inputs[1])) return false;
  if (node.inputs.size() > 2 && !node.inputs[2].empty() && !is_used_once(node.inputs[2])) return false;
  if (node.op == "Conv") return node.int_or("group", 1) == 1;
  return graph_.value(node.inputs[0]).shape.rank() == 2 && graph_.value(node.inputs[1]).shape.rank() == 2 &&
         node.int_or("transA", 0) == 0;
}

bool ChannelGroups::is_depthwise(const Node& node) const {
  if (node.op != "Conv" || !is_used_once(node.inputs[1])) return false;
  if (node.inputs.size() > 2 && !node.inputs[2].empty() && !is_used_once(node.inputs[2])) return false;
  const std::int64_t groups = node.int_or("group", 1);
  const Shape& weights = graph_.value(node.inputs[1]).shape;
  return groups > 1 && weights[0] == groups && weights[1] == 1;
}

void ChannelGroups::visit(const Node& node) {
  if (is_layer(node)) {
    channels_of(node.inputs[0]);
    channels_[node.outputs[0]] = fresh(node.outputs[0], false);
  } else if (is_depthwise(node)) {
    channels_[node.outputs[0]] = channels_of(node.inputs[0]);
  } else if (has(kKeepChannels, node) || has(kCombine, node)) {
    visit_elementwise(node);
  } else if (!visit_concat(node) && !visit_flatten(node)) {
    visit_other(node);
  }
}

void ChannelGroups::visit_elementwise(const Node& node) {
  const std::size_t operands = has(kCombine, node) ? node.inputs.size() : 1;
  const Shape& shape = graph_.value(node.outputs[0]).shape;
  Channels result;
  for (std::size_t i = 0; i < operands; ++i) {
    const std::string& input = node.inputs[i];
    if (graph_.initializers().contains(input)) continue;
    const Channels channels = channels_of(input);
    const Shape& operand = graph_.value(input).shape;
    const bool fits = operand.rank() == shape.rank() && shape.rank() > 1 && operand[1] == shape[1];
    if (!fits) return visit_other(node);
    if (result.empty())
      result = channels;
    else
      unite(result, channels);
  }
  if (result.empty()) return visit_other(node);
  for (std::size_t i = 1; i < node.inputs.size(); ++i)  // parameters by channel are sliced, so nobody else may use them
    if (graph_.initializers().contains(node.inputs[i]) && uses_.at(node.inputs[i]) > 1 &&
        graph_.value(node.inputs[i]).shape.elements() > 1)
      fix(result);
  if (graph_.initializers().contains(node.inputs[0]) && uses_.at(node.inputs[0]) > 1) fix(result);
  channels_[node.outputs[0]] = std::move(result);
}

bool ChannelGroups::visit_concat(const Node& node) {
  if (node.op != "Concat" || node.int_or("axis", 0) != 1) return false;
  Channels result;
  for (const std::string& input : node.inputs) {
    if (graph_.initializers().contains(input)) return false;
    const Channels channels = channels_of(input);
    result.insert(result.end(), channels.begin(), channels.end());
  }
  channels_[node.outputs[0]] = std::move(result);
  return true;
}

/// Whatever makes a row of a sample's channels: [N, C, ...] to [N, C ...].
bool ChannelGroups::visit_flatten(const Node& node) {
  if (node.op != "Flatten" && node.op != "Reshape" && node.op != "Squeeze") return false;
  const Shape &input = graph_.value(node.inputs[0]).shape, &output = graph_.value(node.outputs[0]).shape;
  if (graph_.initializers().contains(node.inputs[0]) || input.rank() < 2 || output.rank() != 2) return false;
  if (input[0] != output[0] || input[1] < 1) return false;
  const std::size_t each = elements_from(input, 2);
  if (static_cast<std::int64_t>(each) * input[1] != output[1]) return false;
  Channels result;
  for (const Channel channel : channels_of(node.inputs[0])) result.insert(result.end(), each, channel);
  channels_[node.outputs[0]] = std::move(result);
  return true;
}

void ChannelGroups::visit_other(const Node& node) {
  for (const std::string& input : node.inputs)
    if (!input.empty() && !graph_.initializers().contains(input)) fix(channels_of(input));
  for (const std::string& output : node.outputs)
    if (!output.empty()) channels_[output] = fresh(output, true);
}

std::vector<ChannelGroups::Family> ChannelGroups::families() const {
  std::vector<Family> families;
  std::map<Channel, std::size_t> family_of, group_of;  // by root
  for (const Node& node : graph_.nodes()) {
    if (!is_layer(node)) continue;
    const Channels& channels = channels_.at(node.outputs[0]);
    std::size_t family = families.size();
    for (const Channel channel : channels)
      if (const auto found = family_of.find(root(channel)); found != family_of.end())
        family = std::min(family, found->second);
    if (family == families.size()) families.push_back({node.name, {}});
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const Channel own = root(channels[i]);
      if (fixed_[own]) continue;
      const auto [known, is_new] = family_of.try_emplace(own, family);
      Family& home = families[known->second];
      if (is_new) {
        group_of[own] = home.groups.size();
        home.groups.emplace_back();
      }
      home.groups[group_of[own]].filters.emplace_back(node.name, static_cast<std::int64_t>(i));
    }
  }
  std::erase_if(families, [](const Family& family) { return family.groups.empty(); });
  return families;
}

void ChannelGroups::slice(std::map<std::string, Tensor>& initializers, const std::string& name, std::size_t axis,
                          const Channels& channels, const std::vector<bool>& is_lost) const {
  std::vector<bool> lost;
  for (const Channel channel : channels) lost.push_back(is_lost[root(channel)]);
  if (std::ranges::count(lost, true) == 0) return;
  Tensor& tensor = initializers.at(name);
  tensor = without_indices(tensor, axis, lost);
}

void ChannelGroups::slice_node(GraphParts& parts, Node& node, const std::vector<bool>& is_lost) const {
  const Channels& result = channels_.at(node.outputs[0]);
  const auto slice_input = [&](std::size_t input, std::size_t axis, const Channels& channels) {
    slice(parts.initializers, node.inputs[input], axis, channels, is_lost);
  };
  const bool has_bias = node.inputs.size() > 2 && !node.inputs[2].empty();
  if (is_layer(node)) {
    slice_input(1, output_axis(node), result);
    slice_input(1, 1 - output_axis(node), channels_.at(node.inputs[0]));
    const Shape* bias = has_bias ? &graph_.value(node.inputs[2]).shape : nullptr;
    if (bias != nullptr && bias->rank() > 0 && (*bias)[bias->rank() - 1] == static_cast<std::int64_t>(result.size()))
      slice_input(2, bias->rank() - 1, result);
  } else if (is_depthwise(node)) {
    slice_input(1, 0, result);
    if (has_bias) slice_input(2, 0, result);
    node.attributes["group"] = parts.initializers.at(node.inputs[1]).shape()[0];
  } else if (node.op == "BatchNormalization") {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) slice_input(i, 0, result);
  } else if (has(kCombine, node)) {
    const std::size_t rank = graph_.value(node.outputs[0]).shape.rank();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!graph_.initializers().contains(node.inputs[i])) continue;
      if (const auto axis = channel_dimension(graph_.value(node.inputs[i]).shape, rank, result.size()))
        slice_input(i, *axis, result);
    }
  } else if (node.op == "Reshape" && std::ranges::any_of(result, [&](Channel c) { return is_lost[root(c)]; })) {
    parts.initializers.erase(node.inputs[1]);
    node = {.name = node.name,
            .op = "Flatten",
            .attributes = {{"axis", std::int64_t{1}}},
            .inputs = {node.inputs[0]},
            .outputs = node.outputs};
  }
}

Result<Graph> ChannelGroups::without(const std::vector<Group>& groups) const {
  std::map<std::string, std::pair<const Channels*, std::int64_t>> layers;  // and how many filters each still has
  for (const Node& node : graph_.nodes())
    if (is_layer(node)) {
      const Channels& channels = channels_.at(node.outputs[0]);
      layers[node.name] = {&channels, static_cast<std::int64_t>(channels.size())};
    }
  std::vector<bool> is_lost(parents_.size());
  for (const Group& group : groups) {
    std::map<std::string, std::int64_t> filters;
    for (const auto& [layer, filter] : group.filters) ++filters[layer];
    const bool may_go =
        std::ranges::all_of(filters, [&](const auto& one) { return layers.at(one.first).second > one.second; });
    if (!may_go) continue;
    for (const auto& [layer, count] : filters) layers.at(layer).second -= count;
    for (const auto& [layer, filter] : group.filters)
      is_lost[root((*layers.at(layer).first)[static_cast<std::size_t>(filter)])] = true;
  }
  GraphParts parts = graph_.parts();
  for (Node& node : parts.nodes) slice_node(parts, node, is_lost);
  return Graph::create(std::move(parts));
}

}  // namespace mangrove::compress
