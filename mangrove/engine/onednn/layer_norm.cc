#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/row_norm_geometry.h"

namespace mangrove::onednn {
namespace {

using Flags = dnnl::normalization_flags;

/// LayerNormalization in oneDNN's terms: rows [rows, length], whatever dimensions they have in the graph.
struct LayerNorm {
  explicit LayerNorm(const KernelRequest& request)
      : geometry(row_norm_geometry(request.node, request.inputs[0].shape).value()),
        rows(plain_desc({geometry.rows, geometry.length()})),
        statistics(plain_desc({geometry.rows})),
        src{request.node.inputs[0], rows},
        dst{request.output_names[0], rows},
        scale{request.node.inputs[1], plain_desc({geometry.length()})},
        has_bias(has_input(request, 2)),
        flags(has_bias ? Flags::use_scale | Flags::use_shift : Flags::use_scale),
        mean(request.node.name + "/mean"),
        variance(request.node.name + "/variance") {
    if (has_bias) bias = {request.node.inputs[2], scale.plain};
  }

  RowNormGeometry geometry;
  Desc rows, statistics;
  Value src, dst, scale, bias;
  bool has_bias;
  Flags flags;
  std::string mean, variance;  // saved
};

}  // namespace

// oneDNN gives all gradients or none.
bool layer_norm_supported(const KernelRequest& request) {
  if (request.outputs.size() != 1) return false;
  if (request.mode == Mode::inference) return true;
  return wants_gradient(request, 0) && wants_gradient(request, 1) &&
         (!has_input(request, 2) || wants_gradient(request, 2));
}

NodeKernels make_layer_norm(const dnnl::engine& engine, const KernelRequest& request) {
  const LayerNorm norm(request);
  const dnnl::layer_normalization_forward::primitive_desc forward(
      {forward_kind(request), norm.rows, norm.statistics, norm.geometry.epsilon, norm.flags}, user_scratchpad(),
      engine);
  const std::string& node = request.node.name;
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, norm.src, norm.rows),
                                  read_value(DNNL_ARG_SCALE, norm.scale, norm.scale.plain),
                                  write_value(DNNL_ARG_DST, norm.dst, norm.rows)};
  if (norm.has_bias) arguments.push_back(read_value(DNNL_ARG_SHIFT, norm.bias, norm.bias.plain));
  if (request.mode == Mode::training) {
    arguments.push_back(write_saved(DNNL_ARG_MEAN, norm.mean, norm.statistics));
    arguments.push_back(write_saved(DNNL_ARG_VARIANCE, norm.variance, norm.statistics));
  }
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  if (request.mode == Mode::inference) return kernels;

  const dnnl::layer_normalization_backward::primitive_desc backward(
      {dnnl::prop_kind::backward, norm.rows, norm.rows, norm.statistics, norm.geometry.epsilon, norm.flags},
      user_scratchpad(), engine, forward);
  arguments = {read_value(DNNL_ARG_SRC, norm.src, norm.rows),
               read_value(DNNL_ARG_SCALE, norm.scale, norm.scale.plain),
               read_gradient(DNNL_ARG_DIFF_DST, norm.dst, norm.rows),
               read_saved(DNNL_ARG_MEAN, norm.mean, norm.statistics),
               read_saved(DNNL_ARG_VARIANCE, norm.variance, norm.statistics),
               write_gradient(DNNL_ARG_DIFF_SRC, norm.src, norm.rows)};
  arguments.push_back(write_gradient(DNNL_ARG_DIFF_SCALE, norm.scale, norm.scale.plain));
  if (norm.has_bias) {
    arguments.push_back(read_value(DNNL_ARG_SHIFT, norm.bias, norm.bias.plain));
    arguments.push_back(write_gradient(DNNL_ARG_DIFF_SHIFT, norm.bias, norm.bias.plain));
  }
  kernels.backward.push_back(primitive_step(backward, node + " backward", node, std::move(arguments)));
  return kernels;
}

}  // namespace mangrove::onednn
