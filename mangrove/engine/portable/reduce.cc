#include <algorithm>
#include <functional>
#include <limits>

#include "mangrove/engine/portable/arithmetic.h"
#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/reductions.h"
#include "mangrove/graph/reduction_geometry.h"

// A reduction is a broadcast seen from the other side: the rows are those of the input, to which the result broadcasts.
namespace mangrove::portable {
namespace {

template <class T>
void reduce_sum(const BroadcastRows& rows, int threads, const T* x, std::int64_t outputs, T scale, T* y) {
  std::fill_n(y, outputs, T(0));
  rows.for_each_part_adding_to(0, threads, [&](std::int64_t at, const auto& to, std::int64_t count) {
    if (rows.stride() == 0) {
      Sum<T> sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum = wrapping(sum, Sum<T>(x[at + i]), std::plus<>());
      y[to[0]] = wrapping(y[to[0]], static_cast<T>(sum), std::plus<>());
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[to[0] + i] = wrapping(y[to[0] + i], x[at + i], std::plus<>());
    }
  });
  if (scale == T(1)) return;
  for (std::int64_t i = 0; i < outputs; ++i) y[i] *= scale;
}

template <class T>
NodeKernels reduce_sum_kernels(const KernelRequest& request, T scale) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const std::int64_t outputs = request.outputs[0].shape.elements();
  const BroadcastRows rows = reduction_rows(request);
  const int threads = request.threads;
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", {read_value(x), write_value(y)}, [=](const Buffers& buffers) {
    reduce_sum(rows, threads, buffers.as<const T>(0), outputs, scale, buffers.as<T>(1));
  }));
  if (std::is_integral_v<T> || !wants_gradient(request, 0)) return kernels;
  kernels.backward.push_back(
      make_step(request, "backward", {read_gradient(y), write_gradient(x)}, [=](const Buffers& buffers) {
        rows.for_each_part(threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
          const T* diff_dst = buffers.as<const T>(0) + from[0];
          T* diff_src = buffers.as<T>(1) + to;
          for (std::int64_t i = 0; i < count; ++i) diff_src[i] = scale * diff_dst[i * rows.stride()];
        });
      }));
  return kernels;
}

constexpr const char* kWhere = "where";

// `where` (may be null) gets the offset of each extreme in the input: of equal ones the first.
template <class T>
void reduce_extreme(const BroadcastRows& rows, int threads, bool largest, const T* x, std::int64_t outputs, T* y,
                    std::int64_t* where) {
  using Limits = std::numeric_limits<T>;
  const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const T lowest = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  std::fill_n(y, outputs, largest ? lowest : highest);
  if (where != nullptr) std::fill_n(where, outputs, -1);
  rows.for_each_part_adding_to(0, threads, [&](std::int64_t at, const auto& to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t j = to[0] + i * rows.stride();
      const T candidate = x[at + i];
      const bool is_first = where != nullptr && where[j] < 0;
      if (!is_first && !(largest ? candidate > y[j] : candidate < y[j]) && !is_nan(candidate)) continue;
      y[j] = candidate;
      if (where != nullptr) where[j] = at + i;
    }
  });
}

template <class T>
NodeKernels reduce_extreme_kernels(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  const std::int64_t inputs = request.inputs[0].shape.elements(), outputs = request.outputs[0].shape.elements();
  const bool largest = request.node.op == "ReduceMax", trains = wants_gradient(request, 0);
  const Bytes where_bytes = outputs * static_cast<Bytes>(sizeof(std::int64_t));
  std::vector<Operand> operands{read_value(x), write_value(y)};
  if (trains) operands.push_back(write_saved(kWhere, where_bytes));
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", std::move(operands),
                [=, rows = reduction_rows(request), threads = request.threads](const Buffers& buffers) {
                  reduce_extreme(rows, threads, largest, buffers.as<const T>(0), outputs, buffers.as<T>(1),
                                 trains ? buffers.as<std::int64_t>(2) : nullptr);
                }));
  if (!trains) return kernels;
  kernels.backward.push_back(make_step(request, "backward",
                                       {read_saved(kWhere, where_bytes), read_gradient(y), write_gradient(x)},
                                       [=](const Buffers& buffers) {
                                         const std::int64_t* where = buffers.as<const std::int64_t>(0);
                                         T* diff_src = buffers.as<T>(2);
                                         std::fill_n(diff_src, inputs, T(0));
                                         for (std::int64_t j = 0; j < outputs; ++j) {
                                           if (where[j] >= 0) diff_src[where[j]] = buffers.as<const T>(1)[j];
                                         }
                                       }));
  return kernels;
}

}  // namespace

BroadcastRows reduction_rows(const KernelRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const Tensor* axes = has_input(request, 1) ? request.constants[1] : nullptr;
  return BroadcastRows(reduction_geometry(request.node, input, axes).value().kept, input);
}

Result<NodeKernels> make_reduce_sum(const KernelRequest& request) {
  return for_one_of<float, double, std::int32_t, std::int64_t>(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if (request.node.op == "ReduceSum") return reduce_sum_kernels<T>(request, T(1));
    // the table has no mean of integers
    const auto reduced = static_cast<double>(request.inputs[0].shape.elements()) /
                         static_cast<double>(std::max<std::int64_t>(request.outputs[0].shape.elements(), 1));
    return reduce_sum_kernels<T>(request, static_cast<T>(1 / reduced));
  });
}

Result<NodeKernels> make_reduce_extreme(const KernelRequest& request) {
  return for_numeric_type(request.outputs[0].dtype,
                          [&](auto zero) { return reduce_extreme_kernels<decltype(zero)>(request); });
}

}  // namespace mangrove::portable
