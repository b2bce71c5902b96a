#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/graph/matmul_geometry.h"

namespace mangrove::onednn {
namespace {

/// Matrices [stack, rows, columns] as a step sees them: plain in the graph, maybe turned here.
struct Matrices {
  std::string name;
  std::int64_t stack, rows, columns;

  Desc desc(bool turned = false) const {
    const Dims dims{stack, turned ? columns : rows, turned ? rows : columns};
    const Dims strides{rows * columns, turned ? 1 : columns, turned ? columns : 1};
    return Desc(dims, dnnl::memory::data_type::f32, strides);
  }
  /// So that a value which lies plain needs no reorder, however it is turned.
  Value value(bool turned = false) const { return {name, desc(turned)}; }
};

MatMulGeometry geometry_of(const KernelRequest& request) {
  return with_tall_a(matmul_geometry(request.inputs[0].shape, request.inputs[1].shape).value());
}

Step product_step(const dnnl::engine& engine, const KernelRequest& request, const std::string& what, Argument a,
                  Argument b, Argument y) {
  const dnnl::matmul::primitive_desc primitive({a.desc, b.desc, y.desc}, user_scratchpad(), engine);
  const std::string& node = request.node.name;
  return primitive_step(primitive, node + " " + what, node, {std::move(a), std::move(b), std::move(y)});
}

}  // namespace

bool matmul_supported(const KernelRequest& request) {
  if (inner_product_supported(request)) return true;
  const MatMulGeometry geometry = geometry_of(request);
  return geometry.stack_a == geometry.stack_b && request.epilogue.empty();
}

NodeKernels make_matmul(const dnnl::engine& engine, const KernelRequest& request) {
  if (inner_product_supported(request)) return make_inner_product(engine, request);
  const MatMulGeometry g = geometry_of(request);
  const std::int64_t stack = g.stack.elements();
  const Matrices a{request.node.inputs[0], stack, g.m, g.k}, b{request.node.inputs[1], stack, g.k, g.n},
      y{request.output_names[0], stack, g.m, g.n};
  NodeKernels kernels;
  kernels.forward.push_back(product_step(engine, request, "forward", read_value(DNNL_ARG_SRC, a.value(), a.desc()),
                                         read_value(DNNL_ARG_WEIGHTS, b.value(), b.desc()),
                                         write_value(DNNL_ARG_DST, y.value(), y.desc())));
  if (wants_gradient(request, 1)) {  // dB = A^T dY
    kernels.backward.push_back(product_step(
        engine, request, "backward b", read_value(DNNL_ARG_SRC, a.value(true), a.desc(true)),
        read_gradient(DNNL_ARG_WEIGHTS, y.value(), y.desc()), write_gradient(DNNL_ARG_DST, b.value(), b.desc())));
  }
  if (wants_gradient(request, 0)) {  // dA = dY B^T
    kernels.backward.push_back(product_step(
        engine, request, "backward a", read_gradient(DNNL_ARG_SRC, y.value(), y.desc()),
        read_value(DNNL_ARG_WEIGHTS, b.value(true), b.desc(true)), write_gradient(DNNL_ARG_DST, a.value(), a.desc())));
  }
  return kernels;
}

}  // namespace mangrove::onednn
