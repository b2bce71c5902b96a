#include "mangrove/engine/onednn/byte_product.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/gemm_geometry.h"
#include "mangrove/graph/matmul_geometry.h"

namespace mangrove::onednn {
namespace {

/// y [m, n] = x [m, k] w, of which w lies [k, n] or turned.
struct ByteMatrices {
  std::int64_t m, k, n;
  bool turned = false;
};

std::optional<ByteMatrices> matrices_of(const Node& node, const ByteProduct& product) {
  const Shape &x = product.src.info.shape, &w = product.weights_shape;
  if (node.op == "Gemm") {
    const GemmGeometry g = gemm_geometry(node, x, w).value();
    if (g.transpose_a || g.alpha != 1 || g.beta != 1) return std::nullopt;
    return ByteMatrices{g.m, g.k, g.n, g.transpose_b};
  }
  const MatMulGeometry g = with_tall_a(matmul_geometry(x, w).value());
  if (g.stack.elements() != 1) return std::nullopt;
  return ByteMatrices{g.m, g.k, g.n};
}

}  // namespace

bool byte_matmul_supported(const KernelRequest& request) {
  const auto product = find_byte_product(request);
  const auto matrices = product ? matrices_of(request.node, *product) : std::nullopt;
  if (!matrices) return false;
  if (product->bias.empty()) return true;
  const std::size_t bias = 2;  // of a Gemm
  const Shape& shape = request.inputs[bias].shape;
  return shape == Shape{matrices->n} || shape == Shape{1, matrices->n};
}

NodeKernels make_byte_matmul(const dnnl::engine& engine, const KernelRequest& request) {
  const ByteProduct product = *find_byte_product(request);
  const auto [m, k, n, turned] = *matrices_of(request.node, product);
  const Desc src = plain_desc({m, k}, product.src.info.dtype), dst = plain_desc({m, n}, product.dst.info.dtype);
  const Dims weights{k, n};
  SumsEpilogue epilogue = sums_epilogue(product, dst, dst);
  Desc bias = epilogue.bias;
  if (!product.bias.empty() && !product.float_bias) bias = plain_desc({1, n}, DType::i32);
  const dnnl::matmul::primitive_desc forward({src, any_desc(weights, DType::i8), bias, dst}, epilogue.attributes,
                                             engine);
  const Desc plain_weights(weights, data_type_of(DType::i8), turned ? Dims{1, k} : Dims{n, 1});
  const std::string& node = request.node.name;
  std::vector<Argument> arguments{
      read_value(DNNL_ARG_SRC, {product.src.name, src}, src),
      read_value(DNNL_ARG_WEIGHTS, {product.weights, plain_weights}, forward.weights_desc()),
      write_value(DNNL_ARG_DST, {product.dst.name, dst}, dst)};
  for (Argument& argument : epilogue.arguments) {
    if (argument.id == DNNL_ARG_BIAS) argument.desc = bias;
    arguments.push_back(std::move(argument));
  }
  NodeKernels kernels;
  kernels.forward.push_back(primitive_step(forward, node + " forward", node, std::move(arguments)));
  return kernels;
}

}  // namespace mangrove::onednn
