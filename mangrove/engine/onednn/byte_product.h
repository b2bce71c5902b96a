#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/onednn/primitive_step.h"

namespace mangrove::onednn {

/// A value that stands for (x - zero point) scale. Floats stand for themselves.
struct ScaledValue {
  std::string name;
  ValueInfo info;
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// A convolution or matrix product of bytes, summed up in i32, and all that is computed on the sums before they are
/// stored: + bias, + residual, activation, quantization. From a Conv, Gemm or MatMul of dequantized values with its
/// epilogue, or a QLinearConv or QLinearMatMul.
struct ByteProduct {
  ScaledValue src;                           // u8 or i8
  std::string weights;                       // i8, zero point 0
  Shape weights_shape;                       // as the node has it
  std::vector<float> weight_scales;          // one for all, or one for each output channel
  std::string bias = {};                     // one number for each output channel; "": none
  bool float_bias = false;                   // else i32, of scale src.scale * weight_scales
  std::optional<ScaledValue> residual = {};  // of the result's shape: f32, u8 or i8
  const FusedNode* activation = nullptr;
  ScaledValue dst;  // f32, u8 or i8
};

/// Nullopt where the request is no such product, or one of a kind that oneDNN lacks (weights with zero points).
std::optional<ByteProduct> find_byte_product(const KernelRequest& request);

/// The part of a primitive that computes on the sums.
struct SumsEpilogue {
  dnnl::primitive_attr attributes;
  std::vector<Argument> arguments;  // bias, residual
  Desc bias;                        // of the i32 bias; empty: none
};

/// `dst`: how the result (and the residual) lies, under dimensions whose second one is the output channels, and `plain`
/// the same of a plain one. Throws dnnl::error.
SumsEpilogue sums_epilogue(const ByteProduct& product, const Desc& dst, const Desc& plain);

}  // namespace mangrove::onednn
