#include "mangrove/engine/onednn/activation.h"

#include <algorithm>
#include <array>

namespace mangrove::onednn {
namespace {

constexpr std::array<Activation, 3> kActivations{{
    {"Relu", dnnl::algorithm::eltwise_relu, dnnl::algorithm::eltwise_relu_use_dst_for_bwd},
    {"Sigmoid", dnnl::algorithm::eltwise_logistic, dnnl::algorithm::eltwise_logistic_use_dst_for_bwd},
    {"Tanh", dnnl::algorithm::eltwise_tanh, dnnl::algorithm::eltwise_tanh_use_dst_for_bwd},
}};

std::string saved_name(const std::string& node) {
  return node + "/result_gradient";
}

}  // namespace

const Activation* find_activation(std::string_view op) {
  const auto found = std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& a) { return a.op == op; });
  return found == kActivations.end() ? nullptr : &*found;
}

dnnl::primitive_attr attributes_with(const Node* activation) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (activation != nullptr) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, find_activation(activation->op)->forward, 0.0f, 0.0f);
    attributes.set_post_ops(after);
  }
  return attributes;
}

Step activation_backward(const dnnl::engine& engine, const Activation& activation, const std::string& node,
                         const Value& y, const Desc& desc, const Argument& dz) {
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, activation.backward, desc, 0.0f, 0.0f}, engine);
  const dnnl::eltwise_backward::primitive_desc backward({activation.backward, desc, desc, 0.0f, 0.0f},
                                                        user_scratchpad(), engine, forward);
  Step step = primitive_step(backward, node + " backward activation", node,
                             {read_value(DNNL_ARG_DST, y, desc), read_gradient(DNNL_ARG_DIFF_DST, y, desc), dz});
  step.in_place = {1, 2};
  return step;
}

ResultGradient::ResultGradient(const dnnl::engine& engine, const KernelRequest& request, const Value& output,
                               const Desc& desc, std::vector<Step>& steps)
    : engine_(engine),
      node_(request.node.name),
      output_(output),
      desc_(desc),
      is_saved_(request.activation != nullptr) {
  if (!is_saved_) return;
  steps.push_back(activation_backward(engine, *find_activation(request.activation->op), node_, output, desc,
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
