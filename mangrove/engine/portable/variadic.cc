#include <algorithm>

#include "mangrove/engine/portable/arithmetic.h"
#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/portable_step.h"

// Operators of any number of inputs, which broadcast together.
namespace mangrove::portable {
namespace {

std::vector<BroadcastRows> rows_of_inputs(const KernelRequest& request) {
  std::vector<BroadcastRows> rows;
  for (const ValueInfo& input : request.inputs) rows.emplace_back(input.shape, request.outputs[0].shape);
  return rows;
}

// All inputs, then the output.
std::vector<Operand> forward_operands(const KernelRequest& request) {
  std::vector<Operand> operands;
  for (const std::string& input : request.node.inputs) operands.push_back(read_value(input));
  operands.push_back(write_value(request.output_names[0]));
  return operands;
}

// y = scale (x_0 + x_1 + ...)
template <class T>
NodeKernels variadic_sum_kernels(const KernelRequest& request, T scale) {
  const std::size_t inputs = request.inputs.size();
  const std::int64_t elements = request.outputs[0].shape.elements();
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", forward_operands(request),
                [=, rows = rows_of_inputs(request), threads = request.threads](const Buffers& buffers) {
                  T* y = buffers.as<T>(inputs);
                  std::fill_n(y, elements, T(0));
                  for (std::size_t k = 0; k < inputs; ++k)
                    add_broadcast(rows[k], threads, scale, buffers.as<const T>(k), y);
                }));
  for (std::size_t k = 0; k < inputs; ++k) {
    if (!wants_gradient(request, k)) continue;
    const Shape& shape = request.inputs[k].shape;
    const BroadcastRows rows(shape, request.outputs[0].shape);
    kernels.backward.push_back(
        make_step(request, "backward " + std::to_string(k),
                  {read_gradient(request.output_names[0]), write_gradient(request.node.inputs[k])},
                  [rows, scale, n = shape.elements(), threads = request.threads](const Buffers& buffers) {
                    sum_broadcast(rows, threads, scale, buffers.as<const T>(0), n, buffers.as<T>(1));
                  }));
  }
  return kernels;
}

// Which input gave an element of the result, so that its gradient goes there alone.
using Winner = std::int32_t;
constexpr const char* kWinners = "winners";

template <class T>
bool beats(T candidate, T best, bool largest) {
  if (is_nan(candidate)) return !is_nan(best);  // NaN wins, as in numpy
  return largest ? candidate > best : candidate < best;
}

// y = the larger (or smaller) of y and x; winners may be null.
template <class T>
void take_extreme(const BroadcastRows& rows, int threads, bool largest, const T* x, Winner k, T* y, Winner* winners) {
  rows.for_each_part(threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T candidate = x[from[0] + i * rows.stride()];
      if (k > 0 && !beats(candidate, y[to + i], largest)) continue;
      y[to + i] = candidate;
      if (winners != nullptr) winners[to + i] = k;
    }
  });
}

template <class T>
Step extreme_gradient(const KernelRequest& request, std::size_t k, Bytes winner_bytes) {
  const Shape& shape = request.inputs[k].shape;
  const BroadcastRows rows(shape, request.outputs[0].shape);
  return make_step(request, "backward " + std::to_string(k),
                   {read_saved(kWinners, winner_bytes), read_gradient(request.output_names[0]),
                    write_gradient(request.node.inputs[k])},
                   [rows, k, n = shape.elements(), threads = request.threads](const Buffers& buffers) {
                     const Winner* winners = buffers.as<const Winner>(0);
                     const T* dy = buffers.as<const T>(1);
                     T* dx = buffers.as<T>(2);
                     std::fill_n(dx, n, T(0));
                     const auto add_part = [&](std::int64_t to, const auto& from, std::int64_t count) {
                       for (std::int64_t i = 0; i < count; ++i) {
                         if (winners[to + i] == static_cast<Winner>(k)) dx[from[0] + i * rows.stride()] += dy[to + i];
                       }
                     };
                     rows.for_each_part_adding_to(0, threads, add_part);
                   });
}

template <class T>
NodeKernels variadic_extreme_kernels(const KernelRequest& request) {
  const std::size_t inputs = request.inputs.size();
  const bool largest = request.node.op == "Max";
  const bool keeps_winners =
      std::any_of(request.wants_gradient.begin(), request.wants_gradient.end(), [](bool w) { return w; }) &&
      request.mode == Mode::training;
  const Bytes winner_bytes = request.outputs[0].shape.elements() * static_cast<Bytes>(sizeof(Winner));
  std::vector<Operand> operands = forward_operands(request);
  if (keeps_winners) operands.push_back(write_saved(kWinners, winner_bytes));
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", std::move(operands),
                [=, rows = rows_of_inputs(request), threads = request.threads](const Buffers& buffers) {
                  Winner* winners = keeps_winners ? buffers.as<Winner>(inputs + 1) : nullptr;
                  for (std::size_t k = 0; k < inputs; ++k)
                    take_extreme(rows[k], threads, largest, buffers.as<const T>(k), static_cast<Winner>(k),
                                 buffers.as<T>(inputs), winners);
                }));
  for (std::size_t k = 0; k < inputs; ++k) {
    if (wants_gradient(request, k)) kernels.backward.push_back(extreme_gradient<T>(request, k, winner_bytes));
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_sum(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool mean = request.node.op == "Mean";
    return variadic_sum_kernels<T>(request, mean ? T(1) / static_cast<T>(request.inputs.size()) : T(1));
  });
}

Result<NodeKernels> make_extreme(const KernelRequest& request) {
  return for_numeric_type(request.outputs[0].dtype,
                          [&](auto zero) { return variadic_extreme_kernels<decltype(zero)>(request); });
}

}  // namespace mangrove::portable
