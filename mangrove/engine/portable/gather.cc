#include <algorithm>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/element_type.h"
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/axis.h"

namespace mangrove::portable {
namespace {

/// data [outer, size, inner], indices [count], result [outer, count, inner].
struct Gather {
  std::int64_t outer, size, inner, count;

  /// Of `inner` elements of the result, which lie next to each other in the data too.
  std::int64_t runs() const { return outer * count; }
  /// Where run `run` of the result comes from in the data; -1 where its index names nothing.
  template <class Index>
  std::int64_t source(const Index* indices, std::int64_t run) const {
    const auto given = static_cast<std::int64_t>(indices[run % count]);
    const std::int64_t index = given < 0 ? given + size : given;
    return index >= 0 && index < size ? (run / count * size + index) * inner : -1;
  }
};

template <class T, class Index>
Step gather_forward_step(const KernelRequest& request, const Gather& g) {
  const Node& node = request.node;
  return make_step(request, "forward",
                   {read_value(node.inputs[0]), read_value(node.inputs[1]), write_value(request.output_names[0])},
                   [g, threads = request.threads](const Buffers& buffers) {
                     const T* data = buffers.as<const T>(0);
                     const Index* indices = buffers.as<const Index>(1);
                     in_parallel(g.runs(), threads_for(g.runs() * g.inner, threads), [&](std::int64_t run) {
                       T* y = buffers.as<T>(2) + run * g.inner;
                       const std::int64_t from = g.source(indices, run);
                       if (from < 0) {
                         std::fill_n(y, g.inner, T(0));
                       } else {
                         std::copy_n(data + from, g.inner, y);
                       }
                     });
                   });
}

// Several indices may name the same element of the data: so threads share the elements of a run, not the runs.
template <class T, class Index>
Step gather_backward_step(const KernelRequest& request, const Gather& g) {
  const Node& node = request.node;
  return make_step(request, "backward",
                   {read_gradient(request.output_names[0]), read_value(node.inputs[1]), write_gradient(node.inputs[0])},
                   [g, threads = request.threads](const Buffers& buffers) {
                     const Index* indices = buffers.as<const Index>(1);
                     T* dx = buffers.as<T>(2);
                     std::fill_n(dx, g.outer * g.size * g.inner, T(0));
                     const int sharing = threads_for(g.runs() * g.inner, threads);
                     in_ranges(g.inner, sharing, [&](std::int64_t first, std::int64_t last) {
                       const T* dy = buffers.as<const T>(0);
                       for (std::int64_t run = 0; run < g.runs(); ++run, dy += g.inner) {
                         const std::int64_t from = g.source(indices, run);
                         for (std::int64_t i = first; from >= 0 && i < last; ++i) dx[from + i] += dy[i];
                       }
                     });
                   });
}

template <class Index>
NodeKernels gather_kernels_of(const KernelRequest& request, const Gather& gather) {
  NodeKernels kernels;
  for_element_type(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels.forward.push_back(gather_forward_step<T, Index>(request, gather));
    if (wants_gradient(request, 0)) kernels.backward.push_back(gather_backward_step<T, Index>(request, gather));
  });
  return kernels;
}

}  // namespace

Result<NodeKernels> make_gather(const KernelRequest& request) {
  const Shape& data = request.inputs[0].shape;
  MG_TRY(const std::size_t axis, resolve_axis(request.node.int_or("axis", 0), data));
  const Gather gather{data.elements(0, axis), data[axis], data.elements(axis + 1, data.rank()),
                      request.inputs[1].shape.elements()};
  if (request.inputs[1].dtype == DType::i32) return gather_kernels_of<std::int32_t>(request, gather);
  return gather_kernels_of<std::int64_t>(request, gather);
}

}  // namespace mangrove::portable
