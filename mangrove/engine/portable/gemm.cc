#include <algorithm>

#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/matrix.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/products.h"
#include "mangrove/graph/gemm_geometry.h"

namespace mangrove::portable {
namespace {

template <class T>
Step gemm_forward_step(const KernelRequest& request, const GemmGeometry& g, const Product<T>& multiply) {
  std::vector<Operand> operands{read_value(request.node.inputs[0]), read_value(request.node.inputs[1]),
                                write_value(request.output_names[0])};
  const bool has_bias = has_input(request, 2);
  if (has_bias) operands.push_back(read_value(request.node.inputs[2]));
  const Shape output{g.m, g.n};
  const BroadcastRows bias(has_bias ? request.inputs[2].shape : output, output);
  return make_step(request, "forward", std::move(operands), [=, threads = request.threads](const Buffers& buffers) {
    T* y = buffers.as<T>(2);
    std::fill_n(y, g.m * g.n, T(0));
    if (has_bias) add_broadcast(bias, threads, static_cast<T>(g.beta), buffers.as<const T>(3), y);
    multiply(g.m, g.n, g.k, static_cast<T>(g.alpha), matrix(buffers.as<const T>(0), g.m, g.k, g.transpose_a),
             matrix(buffers.as<const T>(1), g.k, g.n, g.transpose_b), y, g.n);
  });
}

// dA = alpha dY op(B)^T, or its transpose if A is stored transposed.
template <class T>
Step gemm_backward_a_step(const KernelRequest& request, const GemmGeometry& g, const Product<T>& multiply) {
  return make_step(request, "backward a",
                   {read_gradient(request.output_names[0]), read_value(request.node.inputs[1]),
                    write_gradient(request.node.inputs[0])},
                   [g, multiply](const Buffers& buffers) {
                     const Matrix<T> dy = matrix(buffers.as<const T>(0), g.m, g.n, false);
                     const Matrix<T> b = matrix(buffers.as<const T>(1), g.k, g.n, g.transpose_b);
                     T* da = buffers.as<T>(2);
                     std::fill_n(da, g.m * g.k, T(0));
                     if (g.transpose_a) {
                       multiply(g.k, g.m, g.n, static_cast<T>(g.alpha), b, dy.transposed(), da, g.m);
                     } else {
                       multiply(g.m, g.k, g.n, static_cast<T>(g.alpha), dy, b.transposed(), da, g.k);
                     }
                   });
}

// dB = alpha op(A)^T dY, or its transpose if B is stored transposed.
template <class T>
Step gemm_backward_b_step(const KernelRequest& request, const GemmGeometry& g, const Product<T>& multiply) {
  return make_step(request, "backward b",
                   {read_value(request.node.inputs[0]), read_gradient(request.output_names[0]),
                    write_gradient(request.node.inputs[1])},
                   [g, multiply](const Buffers& buffers) {
                     const Matrix<T> a = matrix(buffers.as<const T>(0), g.m, g.k, g.transpose_a);
                     const Matrix<T> dy = matrix(buffers.as<const T>(1), g.m, g.n, false);
                     T* db = buffers.as<T>(2);
                     std::fill_n(db, g.k * g.n, T(0));
                     if (g.transpose_b) {
                       multiply(g.n, g.k, g.m, static_cast<T>(g.alpha), dy.transposed(), a, db, g.k);
                     } else {
                       multiply(g.k, g.n, g.m, static_cast<T>(g.alpha), a.transposed(), dy, db, g.n);
                     }
                   });
}

template <class T>
Step gemm_backward_bias_step(const KernelRequest& request, const GemmGeometry& g) {
  const BroadcastRows rows(request.inputs[2].shape, Shape{g.m, g.n});
  const std::int64_t elements = request.inputs[2].shape.elements();
  return make_step(
      request, "backward bias", {read_gradient(request.output_names[0]), write_gradient(request.node.inputs[2])},
      [=, threads = request.threads](const Buffers& buffers) {
        sum_broadcast(rows, threads, static_cast<T>(g.beta), buffers.as<const T>(0), elements, buffers.as<T>(1));
      });
}

template <class T>
NodeKernels gemm_kernels_of(const KernelRequest& request, const GemmGeometry& g, const Product<T>& multiply) {
  NodeKernels kernels;
  kernels.forward.push_back(gemm_forward_step<T>(request, g, multiply));
  if (wants_gradient(request, 2)) kernels.backward.push_back(gemm_backward_bias_step<T>(request, g));
  if (wants_gradient(request, 1)) kernels.backward.push_back(gemm_backward_b_step<T>(request, g, multiply));
  if (wants_gradient(request, 0)) kernels.backward.push_back(gemm_backward_a_step<T>(request, g, multiply));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_gemm(const KernelRequest& request) {
  MG_TRY(const GemmGeometry geometry, gemm_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape));
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return gemm_kernels_of<T>(request, geometry, blocked_product<T>);
  });
}

Result<NodeKernels> make_gemm_of(const KernelRequest& request, const Product<float>& multiply) {
  MG_TRY(const GemmGeometry geometry, gemm_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape));
  return gemm_kernels_of<float>(request, geometry, multiply);
}

}  // namespace mangrove::portable
