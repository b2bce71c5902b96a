#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {
namespace {

/// x, scale and zero point of one QuantizeLinear or DequantizeLinear node, as a oneDNN reorder takes them.
struct Quantization {
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// Nullopt where there are several scales, or they are not known; or a zero point beyond what bytes hold.
std::optional<Quantization> find_quantization(const KernelRequest& request) {
  const Tensor* scale = request.constants[1];
  if (scale == nullptr || scale->elements() != 1) return std::nullopt;
  Quantization found{.scale = scale->as<float>()[0]};
  if (!has_input(request, 2)) return found;
  const Tensor* zero = request.constants[2];
  if (zero == nullptr || zero->elements() != 1) return std::nullopt;
  if (zero->dtype() == DType::u8) found.zero_point = zero->as<std::uint8_t>()[0];
  if (zero->dtype() == DType::i8) found.zero_point = zero->as<std::int8_t>()[0];
  if (zero->dtype() == DType::i32 && zero->as<std::int32_t>()[0] != 0) return std::nullopt;
  return found;
}

bool is_image(const Dims& dims) {
  return dims.size() == 4;
}

Step reorder_step(const dnnl::engine& engine, const KernelRequest& request, const dnnl::primitive_attr& attributes,
                  const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc reorder(engine, from, engine, to, attributes);
  const std::string& node = request.node.name;
  return primitive_step(
      reorder, node + " forward", node,
      {read_value(DNNL_ARG_FROM, input_value(request, 0), from), write_value(DNNL_ARG_TO, output_value(request), to)});
}

}  // namespace

bool quantize_supported(const KernelRequest& request) {
  const std::size_t rank = request.inputs[0].shape.rank();
  return find_quantization(request) && rank >= 1 && rank <= 6;
}

// An image comes out as convolutions of bytes want it: channels last.
NodeKernels make_quantize(const dnnl::engine& engine, const KernelRequest& request) {
  const Quantization quantization = *find_quantization(request);
  const Dims dims = request.outputs[0].shape.dims();
  const DType dtype = request.outputs[0].dtype;
  const Desc from = desc_of(request.layouts[0], input_value(request, 0).plain);
  const Desc to = is_image(dims) ? channels_last_desc(dims, dtype) : plain_desc(dims, dtype);
  dnnl::primitive_attr attributes = user_scratchpad();
  attributes.set_output_scales(0, {1 / quantization.scale});
  if (quantization.zero_point != 0) attributes.set_zero_points(DNNL_ARG_TO, 0, {quantization.zero_point});
  NodeKernels kernels;
  kernels.forward.push_back(reorder_step(engine, request, attributes, from, to));
  return kernels;
}

NodeKernels make_dequantize(const dnnl::engine& engine, const KernelRequest& request) {
  const Quantization quantization = *find_quantization(request);
  const Desc from = desc_of(request.layouts[0], input_value(request, 0).plain);
  dnnl::primitive_attr attributes = user_scratchpad();
  attributes.set_output_scales(0, {quantization.scale});
  if (quantization.zero_point != 0) attributes.set_zero_points(DNNL_ARG_FROM, 0, {quantization.zero_point});
  NodeKernels kernels;
  kernels.forward.push_back(reorder_step(engine, request, attributes, from, with_type(from, DType::f32)));
  return kernels;
}

}  // namespace mangrove::onednn
