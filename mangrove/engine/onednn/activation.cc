#include "mangrove/engine/onednn/activation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace mangrove::onednn {
namespace {

struct Row {
  std::string_view op;
  dnnl::algorithm forward;
  dnnl::algorithm backward;
};

constexpr std::array kRows{
    Row{"Relu", dnnl::algorithm::eltwise_relu, dnnl::algorithm::eltwise_relu_use_dst_for_bwd},
    Row{"Sigmoid", dnnl::algorithm::eltwise_logistic, dnnl::algorithm::eltwise_logistic_use_dst_for_bwd},
    Row{"Tanh", dnnl::algorithm::eltwise_tanh, dnnl::algorithm::eltwise_tanh_use_dst_for_bwd},
};

/// The bounds of a Clip are inputs 1 and 2; one left out is infinite. Nullopt where one is computed.
std::optional<Activation> clip(const Node& node, std::span<const Tensor* const> constants) {
  float bounds[2] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    if (constants[i] == nullptr || constants[i]->dtype() != DType::f32) return std::nullopt;
    bounds[i - 1] = constants[i]->as<float>()[0];
  }
  return Activation{dnnl::algorithm::eltwise_clip_v2, dnnl::algorithm::eltwise_clip_v2_use_dst_for_bwd, bounds[0],
                    bounds[1]};
}

std::string saved_name(const std::string& node) {
  return node + "/result_gradient";
}

}  // namespace

std::optional<Activation> find_activation(const Node& node, std::span<const Tensor* const> constants) {
  if (node.op == "Clip") return clip(node, constants);
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == node.op; });
  if (row == kRows.end()) return std::nullopt;
  return Activation{row->forward, row->backward};
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
