#include "mangrove/engine/portable/element_type.h"
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/axis.h"

namespace mangrove::portable {
namespace {

/// data [outer, size, inner], indices [count], result [outer, count, inner].
struct Gather {
  std::int64_t outer, size, inner, count;

  /// visit(offset in the result, offset in the data or -1 where the index names nothing) for each run of `inner`.
  template <class Index, class Visit>
  void for_each(const Index* indices, Visit visit) const {
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t j = 0; j < count; ++j) {
        const auto given = static_cast<std::int64_t>(indices[j]);
        const std::int64_t index = given < 0 ? given + size : given;
        visit((i * count + j) * inner, index >= 0 && index < size ? (i * size + index) * inner : -1);
      }
    }
  }
};

template <class T, class Index>
Step gather_forward_step(const KernelRequest& request, const Gather& g) {
  const Node& node = request.node;
  return make_step(request, "forward",
                   {read_value(node.inputs[0]), read_value(node.inputs[1]), write_value(request.output_names[0])},
                   [g](const Buffers& buffers) {
                     const T* data = buffers.as<const T>(0);
                     T* y = buffers.as<T>(2);
                     g.for_each(buffers.as<const Index>(1), [&](std::int64_t to, std::int64_t from) {
                       if (from < 0) {
                         std::fill_n(y + to, g.inner, T(0));
                       } else {
                         std::copy_n(data + from, g.inner, y + to);
                       }
                     });
                   });
}

template <class T, class Index>
Step gather_backward_step(const KernelRequest& request, const Gather& g) {
  const Node& node = request.node;
  return make_step(request, "backward",
                   {read_gradient(request.output_names[0]), read_value(node.inputs[1]), write_gradient(node.inputs[0])},
                   [g](const Buffers& buffers) {
                     const T* dy = buffers.as<const T>(0);
                     T* dx = buffers.as<T>(2);
                     std::fill_n(dx, g.outer * g.size * g.inner, T(0));
                     g.for_each(buffers.as<const Index>(1), [&](std::int64_t to, std::int64_t from) {
                       for (std::int64_t i = 0; from >= 0 && i < g.inner; ++i) dx[from + i] += dy[to + i];
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
