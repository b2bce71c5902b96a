#pragma once

#include <array>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/onednn/primitive_step.h"

/// The operators that oneDNN computes, one file per family. For each: `..._supported`, which says no for what oneDNN
/// cannot do, and `make_...`, which makes the steps and may throw dnnl::error. All values are f32 (checked before),
/// unless it says so.
namespace mangrove::onednn {

bool conv_supported(const KernelRequest& request);
NodeKernels make_conv(const dnnl::engine& engine, const KernelRequest& request);

/// Conv of dequantized values, and QLinearConv.
bool byte_conv_supported(const KernelRequest& request);
NodeKernels make_byte_conv(const dnnl::engine& engine, const KernelRequest& request);

/// Gemm and MatMul of dequantized values, and QLinearMatMul.
bool byte_matmul_supported(const KernelRequest& request);
NodeKernels make_byte_matmul(const dnnl::engine& engine, const KernelRequest& request);

/// QuantizeLinear and DequantizeLinear with one scale.
bool quantize_supported(const KernelRequest& request);
NodeKernels make_quantize(const dnnl::engine& engine, const KernelRequest& request);
NodeKernels make_dequantize(const dnnl::engine& engine, const KernelRequest& request);

/// ConvInteger and MatMulInteger, fused with what makes floats of their sums; kernels of the backend simd where oneDNN
/// has no exact ones.
bool integer_product_fuses(const KernelRequest& request);
bool integer_product_supported(const KernelRequest& request);
NodeKernels make_integer_conv(const dnnl::engine& engine, const KernelRequest& request);
NodeKernels make_integer_matmul(const dnnl::engine& engine, const KernelRequest& request);

/// DynamicQuantizeLinear, on a kernel of the backend simd.
bool dynamic_quantize_supported(const KernelRequest& request);
NodeKernels make_dynamic_quantize(const dnnl::engine& engine, const KernelRequest& request);

/// ConvTranspose.
bool deconv_supported(const KernelRequest& request);
NodeKernels make_deconv(const dnnl::engine& engine, const KernelRequest& request);

bool layer_norm_supported(const KernelRequest& request);
NodeKernels make_layer_norm(const dnnl::engine& engine, const KernelRequest& request);

bool lrn_supported(const KernelRequest& request);
NodeKernels make_lrn(const dnnl::engine& engine, const KernelRequest& request);

/// GRU, LSTM and RNN.
bool recurrent_supported(const KernelRequest& request);
NodeKernels make_recurrent(const dnnl::engine& engine, const KernelRequest& request);

/// MatMul, of matrices by way of the inner product.
bool matmul_supported(const KernelRequest& request);
NodeKernels make_matmul(const dnnl::engine& engine, const KernelRequest& request);

/// Gemm and MatMul of matrices.
bool inner_product_supported(const KernelRequest& request);
NodeKernels make_inner_product(const dnnl::engine& engine, const KernelRequest& request);

/// MaxPool, AveragePool and GlobalAveragePool.
bool pool_supported(const KernelRequest& request);
NodeKernels make_pool(const dnnl::engine& engine, const KernelRequest& request);

/// Functions of one value: activations where they are not fused, Exp, Log, Mul by a constant with one element ...
bool eltwise_supported(const KernelRequest& request);
NodeKernels make_eltwise(const dnnl::engine& engine, const KernelRequest& request);

/// Add, Sub, Mul, Div, Min, Max of two values, of which one may be broadcast.
bool binary_supported(const KernelRequest& request);
NodeKernels make_binary(const dnnl::engine& engine, const KernelRequest& request);

/// BatchNormalization, with a residual and a Relu or Clip behind it.
bool batch_norm_fuses(const KernelRequest& request);
bool batch_norm_supported(const KernelRequest& request);
NodeKernels make_batch_norm(const dnnl::engine& engine, const KernelRequest& request);

bool concat_supported(const KernelRequest& request);
NodeKernels make_concat(const dnnl::engine& engine, const KernelRequest& request);

/// Resize where it is nearest or linear interpolation of pixels, with half-pixel coordinates.
bool resampling_supported(const KernelRequest& request);
NodeKernels make_resampling(const dnnl::engine& engine, const KernelRequest& request);

/// Softmax and LogSoftmax.
bool softmax_supported(const KernelRequest& request);
NodeKernels make_softmax(const dnnl::engine& engine, const KernelRequest& request);

// What the families share.

inline bool has_input(const KernelRequest& request, std::size_t i) {
  return i < request.node.inputs.size() && !request.node.inputs[i].empty();
}
inline bool wants_gradient(const KernelRequest& request, std::size_t i) {
  return request.mode == Mode::training && i < request.wants_gradient.size() && request.wants_gradient[i];
}
inline dnnl::prop_kind forward_kind(const KernelRequest& request) {
  return request.mode == Mode::training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}
inline Value input_value(const KernelRequest& request, std::size_t i) {
  return {request.node.inputs[i], plain_desc(request.inputs[i].shape.dims(), request.inputs[i].dtype)};
}
inline Value output_value(const KernelRequest& request) {
  return {request.output_names[0], plain_desc(request.outputs[0].shape.dims(), request.outputs[0].dtype)};
}

}  // namespace mangrove::onednn
