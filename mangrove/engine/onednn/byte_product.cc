#include "mangrove/engine/onednn/byte_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "mangrove/engine/onednn/activation.h"
#include "mangrove/engine/onednn/byte_support.h"
#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {
namespace {

bool is_byte(DType dtype) {
  return dtype == DType::u8 || dtype == DType::i8;
}

/// Nullopt for one that is not known, or not a single number.
std::optional<float> scale_of(const Tensor* scale) {
  if (scale == nullptr || scale->dtype() != DType::f32 || scale->elements() != 1) return std::nullopt;
  return scale->as<float>()[0];
}

std::optional<std::int32_t> zero_point_of(const Tensor* zero_point) {
  if (zero_point == nullptr || zero_point->elements() != 1) return std::nullopt;
  if (zero_point->dtype() == DType::u8) return zero_point->as<std::uint8_t>()[0];
  if (zero_point->dtype() == DType::i8) return zero_point->as<std::int8_t>()[0];
  return std::nullopt;
}

bool is_zero(const Tensor& zero_points) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(zero_points.data());
  return std::all_of(bytes, bytes + zero_points.bytes(), [](unsigned char byte) { return byte == 0; });
}

std::optional<ScaledValue> scaled(const std::string& name, const ValueInfo& info, const Tensor* scale,
                                  const Tensor* zero_point) {
  const auto of_scale = scale_of(scale);
  const auto of_zero = zero_point == nullptr ? std::optional<std::int32_t>(0) : zero_point_of(zero_point);
  if (!is_byte(info.dtype) || !of_scale || !of_zero) return std::nullopt;
  return ScaledValue{name, info, *of_scale, *of_zero};
}

std::optional<ScaledValue> scaled(const Dequantized& from) {
  return scaled(from.name, from.info, from.scale, from.zero_point);
}

/// The scales of weights; nullopt where they have zero points, or no scales by this axis.
std::optional<std::vector<float>> weight_scales(const ValueInfo& info, const Tensor* scale, const Tensor* zero_point,
                                                std::int64_t channels) {
  if (info.dtype != DType::i8 || scale == nullptr || scale->dtype() != DType::f32) return std::nullopt;
  if (zero_point != nullptr && !is_zero(*zero_point)) return std::nullopt;
  if (scale->elements() != 1 && scale->elements() != channels) return std::nullopt;
  return std::vector<float>(scale->as<float>().begin(), scale->as<float>().end());
}

/// The axis of a node's weights that its output channels go by.
std::size_t channel_axis(const Node& node) {
  return node.op == "MatMul" || (node.op == "Gemm" && node.int_or("transB", 0) == 0) ? 1 : 0;
}

/// Whether an i32 bias counts in what a product of this value and weights counts in.
bool counts_in_products(const Dequantized& bias, const ByteProduct& product) {
  if (bias.info.dtype != DType::i32 || (bias.zero_point != nullptr && !is_zero(*bias.zero_point))) return false;
  const auto scales = bias.scale->as<float>();
  const std::size_t of_bias = scales.size(), of_weights = product.weight_scales.size();
  if (of_bias != of_weights && of_bias != 1 && of_weights != 1) return false;
  const auto at = [](const auto& values, std::size_t i) { return values[values.size() == 1 ? 0 : i]; };
  for (std::size_t i = 0; i < std::max(scales.size(), product.weight_scales.size()); ++i) {
    constexpr float kRounding = 1e-5f;
    const float expected = product.src.scale * at(product.weight_scales, i);
    if (std::abs(at(scales, i) - expected) > kRounding * expected) return false;
  }
  return true;
}

std::optional<ByteProduct> of_dequantized(const KernelRequest& request) {
  const Node& node = request.node;
  if (node.inputs.size() < 2 || !request.dequantized[0] || !request.dequantized[1]) return std::nullopt;
  const Dequantized& weights = *request.dequantized[1];
  const std::size_t axis = channel_axis(node);
  if (weights.scale->elements() > 1 && weights.axis != axis) return std::nullopt;
  if (weights.info.shape.rank() <= axis) return std::nullopt;
  const auto src = scaled(*request.dequantized[0]);
  auto scales = weight_scales(weights.info, weights.scale, weights.zero_point, weights.info.shape[axis]);
  if (!src || !scales) return std::nullopt;
  ByteProduct product{.src = *src,
                      .weights = weights.name,
                      .weights_shape = weights.info.shape,
                      .weight_scales = *std::move(scales),
                      .dst = {request.output_names[0], request.outputs[0]}};
  if (!has_input(request, 2)) return product;
  const std::optional<Dequantized>& bias = request.dequantized[2];
  if (bias && !counts_in_products(*bias, product)) return std::nullopt;
  product.bias = bias ? bias->name : node.inputs[2];
  product.float_bias = !bias;
  return product;
}

/// Inputs: x, its scale, its zero point, the same of w, scale and zero point of y, and of a convolution the bias.
std::optional<ByteProduct> of_qlinear(const KernelRequest& request) {
  const std::vector<std::string>& names = request.node.inputs;
  const auto& constants = request.constants;
  for (const std::size_t known : {1u, 2u, 4u, 5u, 6u, 7u}) {
    if (constants[known] == nullptr) return std::nullopt;
  }
  const auto src = scaled(names[0], request.inputs[0], constants[1], constants[2]);
  const auto dst = scaled(request.output_names[0], request.outputs[0], constants[6], constants[7]);
  const Shape& shape = request.inputs[3].shape;
  const bool is_conv = request.node.op == "QLinearConv";
  auto scales = weight_scales(request.inputs[3], constants[4], constants[5], is_conv ? shape[0] : 1);
  if (!src || !dst || !scales) return std::nullopt;
  return ByteProduct{.src = *src,
                     .weights = names[3],
                     .weights_shape = shape,
                     .weight_scales = *std::move(scales),
                     .bias = has_input(request, 8) ? names[8] : "",
                     .dst = *dst};
}

std::optional<ScaledValue> residual_of(const FusedNode& fused) {
  const std::size_t other = 1 - fused.input;
  if (fused.inputs[0].shape != fused.inputs[1].shape) return std::nullopt;
  if (fused.dequantized[other]) return scaled(*fused.dequantized[other]);
  return ScaledValue{fused.node.inputs[other], fused.inputs[other]};
}

/// Takes the epilogue along: + residual, activation, quantization, in this order; each may be missing.
bool add_epilogue(const KernelRequest& request, ByteProduct& product) {
  auto next = request.epilogue.begin();
  const auto is = [&](const char* op) { return next != request.epilogue.end() && next->node.op == op; };
  if (is("Add")) {
    product.residual = residual_of(*next++);
    if (!product.residual) return false;
  }
  if (next != request.epilogue.end() && find_activation(next->node, next->constants)) product.activation = &*next++;
  if (is("QuantizeLinear")) {
    const bool has_zero = next->node.inputs.size() > 2 && !next->node.inputs[2].empty();
    if (has_zero && next->constants[2] == nullptr) return false;
    const auto dst = scaled(request.output_names[0], request.outputs[0], next->constants[1],
                            has_zero ? next->constants[2] : nullptr);
    if (!dst) return false;
    product.dst = *dst;
    ++next;
  }
  return next == request.epilogue.end();
}

/// What is computed on sums, in units that change on the way: a number x there stands for unit (x - zero).
class PostOps {
 public:
  explicit PostOps(float unit) : unit_(unit) {}

  float unit() const { return unit_; }
  const dnnl::post_ops& done() const { return ops_; }

  void change_unit(float unit) {
    const float factor = unit_ / unit;
    if (factor != 1 || zero_ != 0) apply(dnnl::algorithm::eltwise_linear, factor, -zero_ * factor);
    unit_ = unit;
    zero_ = 0;
  }
  /// Throws dnnl::error: oneDNN 2.6 computes nonsense where one function comes twice with different parameters.
  void apply(dnnl::algorithm function, float alpha, float beta) {
    if (!functions_.insert(function).second) throw dnnl::error(dnnl_unimplemented, "a function is applied twice");
    ops_.append_eltwise(1.0f, function, alpha, beta);
  }
  /// Adds what another tensor holds, in this unit but for its zero point. The argument by which the primitive reads it.
  int add(const Desc& desc, std::int32_t zero_point = 0) {
    ops_.append_binary(dnnl::algorithm::binary_add, desc);
    zero_ += static_cast<float>(zero_point);
    return DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops_.len() - 1) | DNNL_ARG_SRC_1;
  }

 private:
  float unit_;
  float zero_ = 0;
  dnnl::post_ops ops_;
  std::set<dnnl::algorithm> functions_;
};

/// Functions f with f(x / unit) = f(x) / unit, once their bounds are in the unit too.
bool is_scale_free(const Activation& activation) {
  return activation.forward == dnnl::algorithm::eltwise_relu || activation.forward == dnnl::algorithm::eltwise_clip_v2;
}

/// Whether storing as `dst` cuts off what the activation would, to the same bytes.
bool is_done_by_storing(const Activation& activation, const ScaledValue& dst) {
  if (dst.info.dtype != DType::u8 || dst.zero_point != 0) return false;
  if (activation.forward == dnnl::algorithm::eltwise_relu) return activation.alpha == 0;
  return activation.forward == dnnl::algorithm::eltwise_clip_v2 && activation.alpha == 0 &&
         std::nearbyint(activation.beta / dst.scale) >= 255;
}

void append_activation(const FusedNode& fused, const ScaledValue& dst, PostOps& ops) {
  const Activation activation = *find_activation(fused.node, fused.constants);
  const bool scale_free = is_scale_free(activation);
  ops.change_unit(scale_free ? dst.scale : 1);
  if (is_done_by_storing(activation, dst)) return;
  const bool has_bounds = activation.forward == dnnl::algorithm::eltwise_clip_v2;
  const auto in_unit = [&](float bound) {
    constexpr float kMost = std::numeric_limits<float>::max();
    return has_bounds ? std::clamp(bound / ops.unit(), -kMost, kMost) : bound;
  };
  ops.apply(activation.forward, in_unit(activation.alpha), in_unit(activation.beta));
}

float first_unit(const ByteProduct& product) {
  if (product.float_bias) return 1;
  if (product.residual) return product.residual->scale;
  const FusedNode* activation = product.activation;
  if (activation != nullptr && !is_scale_free(*find_activation(activation->node, activation->constants))) return 1;
  return product.dst.scale;
}

}  // namespace

std::optional<ByteProduct> find_byte_product(const KernelRequest& request) {
  if (!computes_byte_products()) return std::nullopt;
  auto product = request.dequantized.empty() ? of_qlinear(request) : of_dequantized(request);
  if (!product || !add_epilogue(request, *product)) return std::nullopt;
  return product;
}

SumsEpilogue sums_epilogue(const ByteProduct& product, const Desc& dst, const Desc& plain) {
  SumsEpilogue epilogue{.attributes = user_scratchpad(), .arguments = {}, .bias = {}};
  PostOps ops(first_unit(product));
  std::vector<float> scales;
  for (const float scale : product.weight_scales) scales.push_back(product.src.scale * scale / ops.unit());
  epilogue.attributes.set_output_scales(scales.size() == 1 ? 0 : 1 << 1, scales);
  if (!product.bias.empty() && product.float_bias) {
    Dims dims(dst.dims().size(), 1);
    dims[1] = dst.dims()[1];
    const Desc bias = plain_desc(dims);
    epilogue.arguments.push_back(read_value(ops.add(bias), {product.bias, bias}, bias));
  } else if (!product.bias.empty()) {
    epilogue.bias = plain_desc({dst.dims()[1]}, DType::i32);
    epilogue.arguments.push_back(read_value(DNNL_ARG_BIAS, {product.bias, epilogue.bias}, epilogue.bias));
  }
  if (product.residual) {
    const ScaledValue& residual = *product.residual;
    ops.change_unit(residual.scale);
    const Desc lies = with_type(dst, residual.info.dtype);
    const Value value{residual.name, with_type(plain, residual.info.dtype)};
    epilogue.arguments.push_back(read_value(ops.add(lies, residual.zero_point), value, lies));
  }
  if (product.activation != nullptr) append_activation(*product.activation, product.dst, ops);
  ops.change_unit(product.dst.scale);
  epilogue.attributes.set_post_ops(ops.done());
  if (product.src.zero_point != 0) epilogue.attributes.set_zero_points(DNNL_ARG_SRC, 0, {product.src.zero_point});
  if (product.dst.zero_point != 0) epilogue.attributes.set_zero_points(DNNL_ARG_DST, 0, {product.dst.zero_point});
  return epilogue;
}

}  // namespace mangrove::onednn
