#include <algorithm>
#include <functional>
#include <numeric>

#include "mangrove/engine/portable/axis_rows.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/reductions.h"
#include "mangrove/graph/axis.h"

namespace mangrove::portable {
namespace {

template <class T, class IsBefore>
std::int64_t index_of_extreme(const T* x, const AxisRows& rows, bool last, IsBefore is_before) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < rows.length; ++i) {
    const T candidate = x[i * rows.stride], leader = x[best * rows.stride];
    if (is_before(candidate, leader) || (last && candidate == leader)) best = i;
  }
  return best;
}

// Positions of the k first of a row in the wanted order: of equal elements the one that comes first.
template <class T>
void select(const T* x, std::int64_t stride, bool largest, std::span<std::int64_t> order, std::int64_t k) {
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t i, std::int64_t j) {
    const T a = x[i * stride], b = x[j * stride];
    if (a != b) return largest ? a > b : a < b;
    return i < j;
  });
}

struct TopK {
  AxisRows from, to;
  bool largest;

  Bytes index_bytes() const { return to.rows() * to.length * static_cast<Bytes>(sizeof(std::int64_t)); }
};

// The second output, or where the node has none a buffer of its own.
Operand indices_of(const KernelRequest& request, const TopK& top, Operand::Access access) {
  const bool is_output = request.output_names.size() > 1;
  return {.kind = is_output ? Operand::Kind::value : Operand::Kind::saved,
          .access = access,
          .name = is_output ? request.output_names[1] : "indices",
          .saved_bytes = top.index_bytes()};
}

template <class T>
void top_k(const TopK& top, const T* x, std::span<std::int64_t> order, T* values, std::int64_t* indices) {
  for (std::int64_t row = 0; row < top.from.rows(); ++row) {
    const T* first = x + top.from.begin(row);
    select(first, top.from.stride, top.largest, order, top.to.length);
    for (std::int64_t i = 0; i < top.to.length; ++i) {
      const std::int64_t at = top.to.begin(row) + i * top.to.stride;
      indices[at] = order[static_cast<std::size_t>(i)];
      values[at] = first[indices[at] * top.from.stride];
    }
  }
}

template <class T>
Step top_k_forward(const KernelRequest& request, const TopK& top) {
  Step step = make_step(request, "forward",
                        {read_value(request.node.inputs[0]), write_value(request.output_names[0]),
                         indices_of(request, top, Operand::Access::write)},
                        [](const Buffers&) {});
  step.workspace = top.from.length * static_cast<Bytes>(sizeof(std::int64_t));
  step.bind = [top](std::span<std::byte* const> buffers, std::byte* workspace) -> Step::Bound {
    const std::span order(reinterpret_cast<std::int64_t*>(workspace), static_cast<std::size_t>(top.from.length));
    return [top, order, bound = Buffers(buffers)] {
      top_k(top, bound.as<const T>(0), order, bound.as<T>(1), bound.as<std::int64_t>(2));
    };
  };
  return step;
}

template <class T>
Step top_k_backward(const KernelRequest& request, const TopK& top) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  return make_step(request, "backward",
                   {indices_of(request, top, Operand::Access::read), read_gradient(request.output_names[0]),
                    write_gradient(request.node.inputs[0])},
                   [top, elements](const Buffers& buffers) {
                     const std::int64_t* indices = buffers.as<const std::int64_t>(0);
                     T* diff_src = buffers.as<T>(2);
                     std::fill_n(diff_src, elements, T(0));
                     for (std::int64_t row = 0; row < top.to.rows(); ++row) {
                       for (std::int64_t i = 0; i < top.to.length; ++i) {
                         const std::int64_t at = top.to.begin(row) + i * top.to.stride;
                         diff_src[top.from.begin(row) + indices[at] * top.from.stride] = buffers.as<const T>(1)[at];
                       }
                     }
                   });
}

template <class T, class IsBefore>
Step arg_extreme_forward(const KernelRequest& request, IsBefore is_before) {
  const Shape& shape = request.inputs[0].shape;
  const AxisRows rows(shape, resolve_axis(request.node.int_or("axis", 0), shape).value());
  const bool last = request.node.int_or("select_last_index", 0) != 0;
  return make_step(request, "forward", {read_value(request.node.inputs[0]), write_value(request.output_names[0])},
                   [rows, last, is_before](const Buffers& buffers) {
                     for (std::int64_t row = 0; row < rows.rows(); ++row) {
                       buffers.as<std::int64_t>(1)[row] =
                           index_of_extreme(buffers.as<const T>(0) + rows.begin(row), rows, last, is_before);
                     }
                   });
}

}  // namespace

Result<NodeKernels> make_arg_extreme(const KernelRequest& request) {
  return for_numeric_type(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(request.node.op == "ArgMax" ? arg_extreme_forward<T>(request, std::greater<T>())
                                                          : arg_extreme_forward<T>(request, std::less<T>()));
    return kernels;
  });
}

Result<NodeKernels> make_top_k(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const std::size_t axis = resolve_axis(request.node.int_or("axis", -1), shape).value();
  const TopK top{.from = AxisRows(shape, axis),
                 .to = AxisRows(request.outputs[0].shape, axis),
                 .largest = request.node.int_or("largest", 1) != 0};
  return for_numeric_type(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(top_k_forward<T>(request, top));
    if (wants_gradient(request, 0)) kernels.backward.push_back(top_k_backward<T>(request, top));
    return kernels;
  });
}

}  // namespace mangrove::portable
