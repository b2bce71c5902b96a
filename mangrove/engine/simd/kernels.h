#pragma once

#include "mangrove/engine/kernel.h"

namespace mangrove::simd {

/// Conv and ConvTranspose of floats.
Result<NodeKernels> make_convolution(const KernelRequest& request);
/// Whether the request's epilogue is one that is computed with it: in inference, a residual Add and then a Relu or
/// Clip, each of which may be missing.
bool convolution_fuses(const KernelRequest& request);

/// BatchNormalization of floats; in training, where its running statistics are states of the model.
Result<NodeKernels> make_batch_norm(const KernelRequest& request);
/// Whether the request's epilogue is one that is computed with it: a residual Add of another value and then a Relu or
/// Clip, each of which may be missing.
bool batch_norm_fuses(const KernelRequest& request);

Result<NodeKernels> make_sigmoid(const KernelRequest& request);
Result<NodeKernels> make_tanh(const KernelRequest& request);

/// Gemm and MatMul of floats.
Result<NodeKernels> make_gemm(const KernelRequest& request);
Result<NodeKernels> make_matmul(const KernelRequest& request);

/// ConvInteger and MatMulInteger, with exact sums. errors: unimplemented (windows of too many taps).
Result<NodeKernels> make_integer_conv(const KernelRequest& request);
Result<NodeKernels> make_integer_matmul(const KernelRequest& request);

/// DynamicQuantizeLinear of values in any layout without gaps, to bytes in the same order.
Result<NodeKernels> make_dynamic_quantize(const KernelRequest& request, const LayoutPtr& x, const LayoutPtr& y);
Result<NodeKernels> make_plain_dynamic_quantize(const KernelRequest& request);

/// GRU, LSTM and RNN of floats.
Result<NodeKernels> make_recurrent(const KernelRequest& request);

}  // namespace mangrove::simd
