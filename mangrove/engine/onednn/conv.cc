#include <optional>
#include <string_view>

#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/conv_algorithm.h"
#include "mangrove/engine/onednn/epilogue.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/onednn/sliced_conv.h"

namespace mangrove::onednn {
namespace {

using dnnl::algorithm;

/// One convolution in oneDNN's terms.
struct Convolution {
  explicit Convolution(const KernelRequest& request);

  Value src, weights, bias, dst;
  bool has_bias;
  ConvShape shape;
};

Convolution::Convolution(const KernelRequest& request)
    : shape(conv_shape(request.node, request.inputs[0].shape, request.inputs[1].shape)) {
  src = input_value(request, 0);
  weights = {request.node.inputs[1], plain_desc(shape.weights)};
  dst = output_value(request);
  has_bias = has_input(request, 2);
  if (has_bias) bias = input_value(request, 2);
}

// How the primitives take their images.
enum class Format {
  blocked,        // as oneDNN likes best: in blocks of 16 channels on AVX-512, the last one padded
  channels_last,  // [N, H, W, C]
};

constexpr std::int64_t kBlock = 16;

/// A convolution lies as the one before it, so that a network needs no reorders inside. The first one decides by its
/// output channels: blocks are the faster where they are full (ResNet's 16, 32, 64), channels last where padding would
/// make up much of the work and the memory (LeNet's 20 and 50).
Format preferred_format(const Convolution& conv, const KernelRequest& request) {
  const Desc lies = desc_of(request.layouts[0], conv.src.plain);
  if (lies != conv.src.plain) {
    const auto& blocking = lies.data.format_desc.blocking;
    return blocking.inner_nblks == 0 && blocking.strides[1] == 1 ? Format::channels_last : Format::blocked;
  }
  const std::int64_t channels = conv.shape.dst[1];
  const std::int64_t padded = (channels + kBlock - 1) / kBlock * kBlock;
  return (padded - channels) * 8 > channels ? Format::channels_last : Format::blocked;
}

Desc image_desc(const Dims& dims, Format format) {
  return format == Format::channels_last ? channels_last_desc(dims, DType::f32) : any_desc(dims);
}

/// The primitives of one convolution; those for backward where they are wanted.
struct Primitives {
  Primitives(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request, Format format,
             algorithm kind = algorithm::convolution_direct);
  /// Whether all are machine code made for the shape, not the plain loops that oneDNN has for the rest.
  bool are_generated() const;

  dnnl::convolution_forward::primitive_desc forward;
  std::optional<dnnl::convolution_backward_weights::primitive_desc> weights;
  std::optional<dnnl::convolution_backward_data::primitive_desc> data;
};

Primitives::Primitives(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request, Format format,
                       algorithm kind) {
  const auto& [src_dims, weights_dims, dst_dims, strides, dilations, pads_begin, pads_end] = conv.shape;
  const Desc src = image_desc(src_dims, format), dst = image_desc(dst_dims, format);
  const Desc kernel = any_desc(weights_dims);
  const Desc bias = conv.has_bias ? conv.bias.plain : Desc();
  forward = {{forward_kind(request), kind, src, kernel, bias, dst, strides, dilations, pads_begin, pads_end},
             attributes_with_epilogue(request),
             engine};
  if (wants_gradient(request, 1)) {
    const Desc wanted_bias = wants_gradient(request, 2) ? bias : Desc();
    weights.emplace(dnnl::convolution_backward_weights::desc(kind, src, kernel, wanted_bias, dst, strides, dilations,
                                                             pads_begin, pads_end),
                    user_scratchpad(), engine, forward);
  }
  if (wants_gradient(request, 0)) {
    data.emplace(
        dnnl::convolution_backward_data::desc(kind, src, kernel, dst, strides, dilations, pads_begin, pads_end),
        user_scratchpad(), engine, forward);
  }
}

bool Primitives::are_generated() const {
  return is_generated(forward) && (!weights || is_generated(*weights)) && (!data || is_generated(*data));
}

/// The fastest algorithm that may be taken: others than the direct one only in inference, and only where no other node
/// reads the weights, which lie as no other step can read them.
ConvAlgorithm algorithm_for(const Convolution& conv, const KernelRequest& request) {
  const bool free = request.fast_convolution && request.mode == Mode::inference && request.own_parameter[1];
  return free ? expected_fastest(conv.shape) : ConvAlgorithm::direct;
}

std::optional<Primitives> winograd_primitives(const Convolution& conv, const dnnl::engine& engine,
                                              const KernelRequest& request) try {
  return Primitives(conv, engine, request, Format::blocked, algorithm::convolution_winograd);
} catch (const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) return std::nullopt;  // not on this machine
  throw;
}

Primitives choose_primitives(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request) {
  if (algorithm_for(conv, request) == ConvAlgorithm::winograd) {
    if (auto winograd = winograd_primitives(conv, engine, request)) return *std::move(winograd);
  }
  if (preferred_format(conv, request) == Format::channels_last) {
    Primitives primitives(conv, engine, request, Format::channels_last);
    if (primitives.are_generated()) return primitives;
  }
  return {conv, engine, request, Format::blocked};
}

NodeKernels make_steps(const Convolution& conv, const Primitives& primitives, const dnnl::engine& engine,
                       const KernelRequest& request) {
  const std::string& node = request.node.name;
  NodeKernels kernels;
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, conv.src, primitives.forward.src_desc()),
                                  read_value(DNNL_ARG_WEIGHTS, conv.weights, primitives.forward.weights_desc()),
                                  write_value(DNNL_ARG_DST, conv.dst, primitives.forward.dst_desc())};
  if (conv.has_bias) arguments.push_back(read_value(DNNL_ARG_BIAS, conv.bias, conv.bias.plain));
  Step forward = primitive_step(primitives.forward, node + " forward", node, arguments);
  allow_slices(forward, primitives.forward, nullptr, arguments, request.threads);
  if (find_epilogue(request).value().residual != nullptr)
    forward = onto_residual(std::move(forward), /*dst=*/2, primitives.forward.dst_desc(), request);
  kernels.forward.push_back(std::move(forward));
  if (!primitives.weights && !primitives.data) return kernels;

  std::vector<Step>& steps = kernels.backward;
  const ResultGradient gradient(engine, request, conv.dst, primitives.forward.dst_desc(), steps);
  if (const auto& weights = primitives.weights) {
    arguments = {read_value(DNNL_ARG_SRC, conv.src, weights->src_desc()),
                 gradient.read(DNNL_ARG_DIFF_DST, weights->diff_dst_desc(), steps),
                 write_gradient(DNNL_ARG_DIFF_WEIGHTS, conv.weights, weights->diff_weights_desc())};
    if (wants_gradient(request, 2)) arguments.push_back(write_gradient(DNNL_ARG_DIFF_BIAS, conv.bias, conv.bias.plain));
    steps.push_back(primitive_step(*weights, node + " backward weights", node, arguments));
    allow_slices(steps.back(), *weights, &primitives.forward, arguments, request.threads);
  }
  if (const auto& data = primitives.data) {
    arguments = {gradient.read(DNNL_ARG_DIFF_DST, data->diff_dst_desc(), steps),
                 read_value(DNNL_ARG_WEIGHTS, conv.weights, data->weights_desc()),
                 write_gradient(DNNL_ARG_DIFF_SRC, conv.src, data->diff_src_desc())};
    steps.push_back(primitive_step(*data, node + " backward data", node, arguments));
    allow_slices(steps.back(), *data, &primitives.forward, arguments, request.threads);
  }
  return kernels;
}

/// The same for ConvAlgorithm::batch_inside: images of [1, C, H, W, N], of which oneDNN takes W x N for the plane.
struct BatchInside {
  BatchInside(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request);
  /// How the images lie, in the dimensions [N, C, H, W].
  static Desc lies(const Dims& dims);

  Dims weights_dims;
  dnnl::convolution_forward::primitive_desc forward;
};

Desc BatchInside::lies(const Dims& dims) {
  const std::int64_t images = dims[0], channels = dims[1], width = dims[3];
  return Desc(dims, dnnl::memory::data_type::f32, Dims{channels, 1, width * images * channels, images * channels});
}

BatchInside::BatchInside(const Convolution& conv, const dnnl::engine& engine, const KernelRequest& request) {
  const auto turned = [](const Dims& dims) {
    return Desc({1, dims[1], dims[2], dims[3], dims[0]}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ndhwc);
  };
  const auto with = [](Dims dims, std::int64_t of_images) {
    dims.push_back(of_images);
    return dims;
  };
  const ConvShape& shape = conv.shape;
  weights_dims = with(shape.weights, 1);
  forward = {{dnnl::prop_kind::forward_inference, algorithm::convolution_direct, turned(shape.src),
              any_desc(weights_dims), conv.has_bias ? conv.bias.plain : Desc(), turned(shape.dst),
              with(shape.strides, 1), with(shape.dilations, 0), with(shape.pads_begin, 0), with(shape.pads_end, 0)},
             attributes_with_epilogue(request),
             engine};
}

NodeKernels make_batch_inside(const Convolution& conv, const BatchInside& made, const KernelRequest& request) {
  const std::string& node = request.node.name;
  const Value weights{conv.weights.name, plain_desc(made.weights_dims)};
  std::vector<Argument> arguments{read_value(DNNL_ARG_SRC, conv.src, BatchInside::lies(conv.shape.src)),
                                  read_value(DNNL_ARG_WEIGHTS, weights, made.forward.weights_desc()),
                                  write_value(DNNL_ARG_DST, conv.dst, BatchInside::lies(conv.shape.dst))};
  arguments[0].desc = made.forward.src_desc();
  arguments[2].desc = made.forward.dst_desc();
  if (conv.has_bias) arguments.push_back(read_value(DNNL_ARG_BIAS, conv.bias, conv.bias.plain));
  Step forward = primitive_step(made.forward, node + " forward", node, arguments);
  if (find_epilogue(request).value().residual != nullptr)
    forward = onto_residual(std::move(forward), /*dst=*/2, made.forward.dst_desc(), request);
  NodeKernels kernels;
  kernels.forward.push_back(std::move(forward));
  return kernels;
}

}  // namespace

bool conv_supported(const KernelRequest& request) {
  // oneDNN has no primitive for the gradient of the bias alone
  return wants_gradient(request, 1) || !wants_gradient(request, 2);
}

NodeKernels make_conv(const dnnl::engine& engine, const KernelRequest& request) {
  const Convolution conv(request);
  if (algorithm_for(conv, request) == ConvAlgorithm::batch_inside) {
    const BatchInside made(conv, engine, request);
    if (is_generated(made.forward)) return make_batch_inside(conv, made, request);
  }
  return make_steps(conv, choose_primitives(conv, engine, request), engine, request);
}

}  // namespace mangrove::onednn
