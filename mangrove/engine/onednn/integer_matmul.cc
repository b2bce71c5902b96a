#include <algorithm>
#include <optional>
#include <utility>

#include "mangrove/engine/onednn/integer_product.h"
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/simd/byte_loops.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/graph/matmul_geometry.h"

namespace mangrove::onednn {
namespace {

std::shared_ptr<const MetBySums> met_by_rows(const MatMulGeometry& g, const IntegerProduct& product) {
  auto met = std::make_shared<MetBySums>();
  met->rows = g.m;
  met->counts = {static_cast<std::int32_t>(g.k)};
  met->weight_sums.resize(static_cast<std::size_t>(g.n), 0);
  const std::int8_t* weights = product.known_weights->as<std::int8_t>().data();
  for (std::int64_t k = 0; k < g.k; ++k) {
    for (std::int32_t& sum : met->weight_sums) sum += *weights++;
  }
  if (product.weight_zeros.empty()) return met;
  met->source_sums = [k = g.k, n = g.n](const std::uint8_t* x, const std::int32_t*, std::int64_t row,
                                        std::int32_t* sums) {
    std::fill_n(sums, n, simd::byte_loops().sum(k, x + row * k));
  };
  return met;
}

std::optional<NodeKernels> matrices_of_bytes(const dnnl::engine& engine, const KernelRequest& request,
                                             const IntegerProduct& product) {
  const MatMulGeometry g = with_tall_a(matmul_geometry(product.x_info.shape, product.weights_shape).value());
  if (g.stack.elements() != 1) return std::nullopt;  // a stack of weights
  const Desc src = plain_desc({g.m, g.k}, product.x_info.dtype), sums = plain_desc({g.m, g.n}, DType::i32),
             lies = with_type(sums, product.result.dtype);
  const Dims weights{g.k, g.n};
  const dnnl::matmul::primitive_desc forward({as_unsigned(src), any_desc(weights, DType::i8), sums}, user_scratchpad(),
                                             engine, /*allow_empty=*/true);
  if (!forward || !is_generated(forward) || !sums_are_exact(forward, g.k)) return std::nullopt;
  std::vector<Argument> arguments{
      read_value(DNNL_ARG_SRC, {product.x, src}, src),
      read_value(DNNL_ARG_WEIGHTS, {product.weights, plain_desc(weights, DType::i8)}, forward.weights_desc()),
      write_value(DNNL_ARG_DST, {request.output_names[0], lies}, lies)};
  arguments[0].desc = as_unsigned(src);
  arguments[2].desc = sums;
  return integer_product_kernels(request, product, forward, std::move(arguments), lies, lies, met_by_rows(g, product));
}

}  // namespace

NodeKernels make_integer_matmul(const dnnl::engine& engine, const KernelRequest& request) {
  if (integer_product_fuses(request)) {
    if (auto kernels = matrices_of_bytes(engine, request, *find_integer_product(request))) return *std::move(kernels);
  }
  return in_exact_floats(request, simd::make_integer_matmul);
}

}  // namespace mangrove::onednn
