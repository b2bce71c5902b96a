#include <algorithm>
#include <vector>

#include "mangrove/engine/portable/matrix.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/products.h"
#include "mangrove/graph/matmul_geometry.h"

namespace mangrove::portable {
namespace {

struct MatmulProduct {
  explicit MatmulProduct(const MatMulGeometry& g)
      : m(g.m),
        k(g.k),
        n(g.n),
        a(matrices_met(g.stack_a, g.stack)),
        b(matrices_met(g.stack_b, g.stack)),
        a_elements(g.stack_a.elements() * m * k),
        b_elements(g.stack_b.elements() * k * n) {}

  std::int64_t m, k, n;
  std::vector<std::int64_t> a, b;  // per matrix of the result
  std::int64_t a_elements, b_elements;
};

template <class T>
Step matmul_forward_step(const KernelRequest& request, const MatmulProduct& product, const Product<T>& multiply) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_step(request, "forward", {read_value(in[0]), read_value(in[1]), write_value(request.output_names[0])},
                   [product, multiply](const Buffers& buffers) {
                     const auto& [m, k, n, a, b, a_elements, b_elements] = product;
                     T* y = buffers.as<T>(2);
                     std::fill_n(y, static_cast<std::int64_t>(a.size()) * m * n, T(0));
                     for (std::size_t i = 0; i < a.size(); ++i, y += m * n) {
                       multiply(m, n, k, T(1), matrix(buffers.as<const T>(0) + a[i] * m * k, m, k),
                                matrix(buffers.as<const T>(1) + b[i] * k * n, k, n), y, n);
                     }
                   });
}

// dA = dY B^T, summed over the matrices of the result that A's was part of.
template <class T>
Step matmul_backward_a_step(const KernelRequest& request, const MatmulProduct& product, const Product<T>& multiply) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_step(
      request, "backward a", {read_gradient(request.output_names[0]), read_value(in[1]), write_gradient(in[0])},
      [product, multiply](const Buffers& buffers) {
        const auto& [m, k, n, a, b, a_elements, b_elements] = product;
        const T* dy = buffers.as<const T>(0);
        std::fill_n(buffers.as<T>(2), a_elements, T(0));
        for (std::size_t i = 0; i < a.size(); ++i, dy += m * n) {
          multiply(m, k, n, T(1), matrix(dy, m, n), matrix(buffers.as<const T>(1) + b[i] * k * n, k, n).transposed(),
                   buffers.as<T>(2) + a[i] * m * k, k);
        }
      });
}

// dB = A^T dY, likewise.
template <class T>
Step matmul_backward_b_step(const KernelRequest& request, const MatmulProduct& product, const Product<T>& multiply) {
  const std::vector<std::string>& in = request.node.inputs;
  return make_step(request, "backward b",
                   {read_value(in[0]), read_gradient(request.output_names[0]), write_gradient(in[1])},
                   [product, multiply](const Buffers& buffers) {
                     const auto& [m, k, n, a, b, a_elements, b_elements] = product;
                     const T* dy = buffers.as<const T>(1);
                     std::fill_n(buffers.as<T>(2), b_elements, T(0));
                     for (std::size_t i = 0; i < a.size(); ++i, dy += m * n) {
                       multiply(k, n, m, T(1), matrix(buffers.as<const T>(0) + a[i] * m * k, m, k).transposed(),
                                matrix(dy, m, n), buffers.as<T>(2) + b[i] * k * n, n);
                     }
                   });
}

template <class T>
NodeKernels matmul_kernels_of(const KernelRequest& request, const MatmulProduct& product, const Product<T>& multiply) {
  NodeKernels kernels;
  kernels.forward.push_back(matmul_forward_step<T>(request, product, multiply));
  if (wants_gradient(request, 1)) kernels.backward.push_back(matmul_backward_b_step<T>(request, product, multiply));
  if (wants_gradient(request, 0)) kernels.backward.push_back(matmul_backward_a_step<T>(request, product, multiply));
  return kernels;
}

}  // namespace

Result<NodeKernels> make_matmul(const KernelRequest& request) {
  MG_TRY(const MatMulGeometry geometry, matmul_geometry(request.inputs[0].shape, request.inputs[1].shape));
  const MatmulProduct product(with_tall_a(geometry));
  return for_one_of<float, double, std::int32_t, std::int64_t>(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return matmul_kernels_of<T>(request, product, blocked_product<T>);
  });
}

Result<NodeKernels> make_matmul_of(const KernelRequest& request, const Product<float>& multiply) {
  MG_TRY(const MatMulGeometry geometry, matmul_geometry(request.inputs[0].shape, request.inputs[1].shape));
  return matmul_kernels_of<float>(request, MatmulProduct(with_tall_a(geometry)), multiply);
}

}  // namespace mangrove::portable
