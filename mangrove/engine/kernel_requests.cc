#include "mangrove/engine/kernel_requests.h"

#include <algorithm>
#include <cstddef>

#include "mangrove/graph/axis.h"

namespace mangrove {

ValueInfo KernelRequests::bound(const std::string& value) const {
  if (value.empty()) return {};
  const ValueInfo& info = graph_.value(value);
  return {info.dtype, info.shape.with_batch(options_.batch)};
}

const Tensor* KernelRequests::constant(const std::string& value) const {
  const auto initializer = graph_.initializers().find(value);
  const bool is_constant = initializer != graph_.initializers().end() && !parameters_.contains(value);
  return is_constant ? &initializer->second : nullptr;
}

LayoutPtr KernelRequests::layout_of(const std::string& value) const {
  if (value.empty() || steps_.value(value).copies.empty()) return nullptr;
  return steps_.value(value).copies[0].layout;
}

bool KernelRequests::is_made(const std::string& value) const {
  if (value.empty() || graph_.initializers().contains(value) || !steps_.value(value).copies.empty()) return true;
  const Node* node = dequantizer(value);
  return node != nullptr && is_made(node->inputs[0]);
}

const Node* KernelRequests::dequantizer(const std::string& value) const {
  const auto found = dequantizers_.find(value);
  if (found == dequantizers_.end() || !options_.fuse || options_.mode == Mode::training) return nullptr;
  const std::vector<std::string>& inputs = found->second->inputs;
  const bool is_known = std::all_of(inputs.begin() + 1, inputs.end(), [&](const std::string& input) {
    return input.empty() || constant(input) != nullptr;
  });
  const auto& outputs = graph_.outputs();
  const bool is_output = std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  return is_known && !is_output ? found->second : nullptr;
}

std::optional<Dequantized> KernelRequests::dequantized(const std::string& value) const {
  const Node* node = dequantizer(value);
  if (node == nullptr) return std::nullopt;
  Dequantized from{.name = node->inputs[0], .info = bound(node->inputs[0]), .layout = layout_of(node->inputs[0])};
  from.scale = constant(node->inputs[1]);
  if (node->inputs.size() > 2 && !node->inputs[2].empty()) from.zero_point = constant(node->inputs[2]);
  // the default axis of a vector or a scalar, which have none, says nothing
  if (const auto axis = resolve_axis(node->int_or("axis", 1), from.info.shape); axis.ok()) from.axis = axis.value();
  return from;
}

bool KernelRequests::is_read_once(const std::string& value) const {
  const auto reads = reads_.find(value);
  if (reads == reads_.end() || reads->second != 1) return false;
  const Node& reader = *last_reader_.at(value);
  const bool is_source = !reader.outputs.empty() && dequantizer(reader.outputs[0]) == &reader;
  return !is_source || is_read_once(reader.outputs[0]);
}

template <class Request>
void KernelRequests::describe_inputs(const Node& node, Reading reading, Request& of) const {
  for (const std::string& name : node.inputs) {
    of.inputs.push_back(bound(name));
    of.constants.push_back(constant(name));
    of.layouts.push_back(layout_of(name));
    of.wants_gradient.push_back(needs_gradient_.contains(name));
    if (reading == Reading::dequantized) of.dequantized.push_back(dequantized(name));
  }
}

KernelRequest KernelRequests::make(const Node& node, std::span<const Node* const> epilogue, Reading reading) const {
  KernelRequest request{.node = node};
  request.mode = options_.mode;
  request.threads = options_.threads;
  describe_inputs(node, reading, request);
  request.fast_convolution = options_.fast_convolution;
  for (const std::string& name : node.inputs) {
    request.own_parameter.push_back(parameters_.contains(name) && reads_.at(name) == 1);
  }
  const Node* last = &node;
  for (const Node* next : epilogue) {
    const auto from = std::find(next->inputs.begin(), next->inputs.end(), last->outputs[0]);
    FusedNode fused{.node = *next, .input = static_cast<std::size_t>(from - next->inputs.begin())};
    describe_inputs(*next, reading, fused);
    request.epilogue.push_back(std::move(fused));
    last = next;
  }
  request.output_names = last->outputs;
  for (const std::string& name : request.output_names) request.outputs.push_back(bound(name));
  return request;
}

}  // namespace mangrove
