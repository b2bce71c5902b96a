#include "mangrove/engine/kernel_requests.h"

#include <algorithm>
#include <cstddef>

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
  return value.empty() || graph_.initializers().contains(value) || !steps_.value(value).copies.empty();
}

template <class Request>
void KernelRequests::describe_inputs(const Node& node, Request& of) const {
  for (const std::string& name : node.inputs) {
    of.inputs.push_back(bound(name));
    of.constants.push_back(constant(name));
    of.layouts.push_back(layout_of(name));
    of.wants_gradient.push_back(needs_gradient_.contains(name));
  }
}

KernelRequest KernelRequests::make(const Node& node, std::span<const Node* const> epilogue) const {
  KernelRequest request{.node = node};
  request.mode = options_.mode;
  request.threads = options_.threads;
  describe_inputs(node, request);
  request.fast_convolution = options_.fast_convolution;
  for (const std::string& name : node.inputs) {
    request.own_parameter.push_back(parameters_.contains(name) && reads_.at(name) == 1);
  }
  const Node* last = &node;
  for (const Node* next : epilogue) {
    const auto from = std::find(next->inputs.begin(), next->inputs.end(), last->outputs[0]);
    FusedNode fused{.node = *next, .input = static_cast<std::size_t>(from - next->inputs.begin())};
    describe_inputs(*next, fused);
    request.epilogue.push_back(std::move(fused));
    last = next;
  }
  request.output_names = last->outputs;
  for (const std::string& name : request.output_names) request.outputs.push_back(bound(name));
  return request;
}

}  // namespace mangrove
