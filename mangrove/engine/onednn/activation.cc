#include "mangrove/engine/onednn/activation.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "mangrove/engine/fused_node.h"

namespace mangrove::onednn {
namespace {

using dnnl::algorithm;

struct Row {
  std::string_view op;
  algorithm forward;
  algorithm backward;
};

constexpr std::array kRows{
    Row{"Exp", algorithm::eltwise_exp, algorithm::eltwise_exp_use_dst_for_bwd},
    Row{"Relu", algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd},
    Row{"Sigmoid", algorithm::eltwise_logistic, algorithm::eltwise_logistic_use_dst_for_bwd},
    Row{"Sqrt", algorithm::eltwise_sqrt, algorithm::eltwise_sqrt_use_dst_for_bwd},
    Row{"Tanh", algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd},
};

std::optional<Activation> clip(const Node& node, std::span<const Tensor* const> constants) {
  const std::optional<ClipBounds> bounds = clip_bounds(node, constants);
  if (!bounds) return std::nullopt;
  return Activation{algorithm::eltwise_clip_v2, algorithm::eltwise_clip_v2_use_dst_for_bwd, bounds->low, bounds->high};
}

/// Of these the output's sign tells the input's, unless alpha is negative.
std::optional<Activation> leaky(const Node& node) {
  const bool elu = node.op == "Elu";
  const float alpha = node.float_or("alpha", elu ? 1.0f : 0.01f);
  if (alpha < 0) return std::nullopt;
  if (elu) return Activation{algorithm::eltwise_elu, algorithm::eltwise_elu_use_dst_for_bwd, alpha};
  return Activation{algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd, alpha};
}

/// Functions of one value whose derivative is computed from it.
std::optional<Activation> of_input(const Node& node) {
  const auto same = [](algorithm function, float alpha = 0, float beta = 0) {
    return Activation{function, function, alpha, beta};
  };
  if (node.op == "Abs") return same(algorithm::eltwise_abs);
  if (node.op == "HardSwish") return same(algorithm::eltwise_hardswish);
  if (node.op == "Neg") return same(algorithm::eltwise_linear, -1);
  if (node.op == "Reciprocal") return same(algorithm::eltwise_pow, 1, -1);
  if (node.op == "Softplus") return same(algorithm::eltwise_soft_relu);
  return std::nullopt;
}

/// x op c, or with `turned` c op x, as alpha x + beta or alpha x^beta.
std::optional<Activation> with_constant(const std::string& op, float c, bool turned) {
  const auto linear = [](float alpha, float beta) {
    return Activation{algorithm::eltwise_linear, algorithm::eltwise_linear, alpha, beta};
  };
  if (op == "Add") return linear(1, c);
  if (op == "Mul") return linear(c, 0);
  if (op == "Sub") return turned ? linear(-1, c) : linear(1, -c);
  if (op == "Div" && !turned) return linear(1 / c, 0);
  if (op == "Div") return Activation{algorithm::eltwise_pow, algorithm::eltwise_pow, c, -1};
  if (op == "Pow" && !turned && c == 2) return Activation{algorithm::eltwise_square, algorithm::eltwise_square};
  return std::nullopt;
}

const Tensor* one_element(const KernelRequest& request, std::size_t input) {
  const Tensor* constant = request.constants[input];
  return constant != nullptr && constant->dtype() == DType::f32 && constant->elements() == 1 ? constant : nullptr;
}

std::string saved_name(const std::string& node) {
  return node + "/result_gradient";
}

}  // namespace

std::optional<Activation> find_activation(const Node& node, std::span<const Tensor* const> constants) {
  if (node.op == "Clip") return clip(node, constants);
  if (node.op == "Elu" || node.op == "LeakyRelu") return leaky(node);
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == node.op; });
  if (row == kRows.end()) return std::nullopt;
  return Activation{row->forward, row->backward};
}

std::optional<Eltwise> find_eltwise(const KernelRequest& request) {
  if (const auto activation = find_activation(request.node, request.constants)) return Eltwise{*activation, true};
  if (const auto function = of_input(request.node)) return Eltwise{*function};
  if (request.inputs.size() != 2) return std::nullopt;
  for (std::size_t input = 0; input < 2; ++input) {
    const Tensor* constant = one_element(request, 1 - input);
    if (constant == nullptr || request.inputs[input].shape != request.outputs[0].shape) continue;
    const auto function = with_constant(request.node.op, constant->as<float>()[0], input == 1);
    if (function) return Eltwise{*function, false, input};
  }
  return std::nullopt;
}

Step activation_backward(const dnnl::engine& engine, const Activation& activation, const std::string& node,
                         const Value& y, const Desc& desc, const Argument& dz) {
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, activation.backward, desc, activation.alpha, activation.beta}, engine);
  const dnnl::eltwise_backward::primitive_desc backward(
      {activation.backward, desc, desc, activation.alpha, activation.beta}, user_scratchpad(), engine, forward);
  Step step = primitive_step(backward, node + " backward activation", node,
                             {read_value(DNNL_ARG_DST, y, desc), read_gradient(DNNL_ARG_DIFF_DST, y, desc), dz});
  step.in_place = {1, 2};
  return step;
}

ResultGradient::ResultGradient(const dnnl::engine& engine, const KernelRequest& request, const Value& output,
                               const Desc& desc, std::vector<Step>& steps)
    : engine_(engine), node_(request.node.name), output_(output), desc_(desc), is_saved_(!request.epilogue.empty()) {
  if (!is_saved_) return;
  const FusedNode& fused = request.epilogue.back();
  steps.push_back(activation_backward(engine, *find_activation(fused.node, fused.constants), node_, output, desc,
                                      write_saved(DNNL_ARG_DIFF_SRC, saved_name(node_), desc)));
}

Argument ResultGradient::read(int id, const Desc& desc, std::vector<Step>& steps) const {
  if (!is_saved_) return read_gradient(id, output_, desc);
  if (desc == desc_) return read_saved(id, saved_name(node_), desc);
  const std::string copy = saved_name(node_) + "/" + std::to_string(steps.size());
  steps.push_back(copy_step(engine_, node_ + " backward reorder", node_, read_saved(id, saved_name(node_), desc_),
                            write_saved(id, copy, desc)));
  return read_saved(id, copy, desc);
}

}  // namespace mangrove::onednn
