#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/onednn/primitive_step.h"

namespace mangrove::onednn {

/// An elementwise operator whose derivative is computed from its output.
struct Activation {
  dnnl::algorithm forward;
  dnnl::algorithm backward;  // the same, as it is called where the derivative is computed from the output
  float alpha = 0;
  float beta = 0;
};

/// Nullopt for a node that is not one. constants: as in KernelRequest.
std::optional<Activation> find_activation(const Node& node, std::span<const Tensor* const> constants);

/// An elementwise operator of one value, whose derivative may be computed from its input: 3 - x, say.
struct Eltwise {
  Activation function;
  bool from_output = false;  // the derivative
  std::size_t input = 0;     // of the node: the value; the others are constants
};

/// Also every activation, and operators of two values of which one is a constant with one element.
std::optional<Eltwise> find_eltwise(const KernelRequest& request);

/// The step  dz = dy * activation'(z), from y = activation(z); all lie as `desc`. It may work in place.
Step activation_backward(const dnnl::engine& engine, const Activation& activation, const std::string& node,
                         const Value& y, const Desc& desc, const Argument& dz);

/// The gradient of a node's result before the activation fused into it, as the node's backward steps read it.
/// Without activation it is the gradient of the node's output. With one it is a saved buffer that a first step fills,
/// since it is no value of the graph; a step that wants it in another format gets its own copy.
class ResultGradient {
 public:
  /// output: the request's output, which lies as `desc`. Appends to `steps`.
  ResultGradient(const dnnl::engine& engine, const KernelRequest& request, const Value& output, const Desc& desc,
                 std::vector<Step>& steps);

  /// The argument for a step that wants the gradient as `desc`. Appends the copy, if it needs one, to `steps`.
  Argument read(int id, const Desc& desc, std::vector<Step>& steps) const;

 private:
  dnnl::engine engine_;
  std::string node_;
  Value output_;
  Desc desc_;
  bool is_saved_;
};

}  // namespace mangrove::onednn
