#include <string_view>

#include "mangrove/engine/onednn/byte_product.h"
#include "mangrove/engine/onednn/conv_algorithm.h"
#include "mangrove/engine/onednn/kernels.h"

namespace mangrove::onednn {

bool byte_conv_supported(const KernelRequest& request) {
  return find_byte_product(request).has_value();
}

// Images lie channels last: so the bytes that one instruction multiplies and adds up lie side by side.
NodeKernels make_byte_conv(const dnnl::engine& engine, const KernelRequest& request) {
  const ByteProduct product = *find_byte_product(request);
  const ConvShape shape = conv_shape(request.node, product.src.info.shape, product.weights_shape);
  const Desc src = channels_last_desc(shape.src, product.src.info.dtype),
             dst = channels_last_desc(shape.dst, product.dst.info.dtype),
             plain_dst = plain_desc(shape.dst, product.dst.info.dtype);
  SumsEpilogue epilogue = sums_epilogue(product, dst, plain_dst);
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, any_desc(shape.weights, DType::i8),
       epilogue.bias, dst, shape.strides, shape.dilations, shape.pads_begin, shape.pads_end},
      epilogue.attributes, engine);
  if (!is_generated(forward)) throw dnnl::error(dnnl_unimplemented, "it has a reference kernel only");
  const std::string& node = request.node.name;
  std::vector<Argument> arguments{
      read_value(DNNL_ARG_SRC, {product.src.name, plain_desc(shape.src, product.src.info.dtype)}, src),
      read_value(DNNL_ARG_WEIGHTS, {product.weights, plain_desc(shape.weights, DType::i8)}, forward.weights_desc()),
      write_value(DNNL_ARG_DST, {product.dst.name, plain_dst}, dst)};
  for (Argument& argument : epilogue.arguments) arguments.push_back(std::move(argument));
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  return kernels;
}

}  // namespace mangrove::onednn
