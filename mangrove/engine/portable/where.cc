#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/logic.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

template <class T>
Step where_forward(const KernelRequest& request) {
  const BroadcastRows rows({request.inputs[0].shape, request.inputs[1].shape, request.inputs[2].shape},
                           request.outputs[0].shape);
  std::vector<Operand> operands;
  for (const std::string& input : request.node.inputs) operands.push_back(read_value(input));
  operands.push_back(write_value(request.output_names[0]));
  return make_step(request, "forward", std::move(operands), [rows, threads = request.threads](const Buffers& buffers) {
    rows.for_each_part(threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
      const bool* condition = buffers.as<const bool>(0) + from[0];
      const T* a = buffers.as<const T>(1) + from[1];
      const T* b = buffers.as<const T>(2) + from[2];
      T* y = buffers.as<T>(3) + to;
      for (std::int64_t i = 0; i < count; ++i) {
        y[i] = condition[i * rows.stride(0)] ? a[i * rows.stride(1)] : b[i * rows.stride(2)];
      }
    });
  });
}

// Of input 1 (taken where the condition holds) or 2 (where it does not).
template <class T>
Step where_gradient(const KernelRequest& request, std::size_t k) {
  const Shape& shape = request.inputs[k].shape;
  const BroadcastRows rows({request.inputs[0].shape, shape}, request.outputs[0].shape);
  const bool taken_where = k == 1;
  return make_step(request, k == 1 ? "backward a" : "backward b",
                   {read_value(request.node.inputs[0]), read_gradient(request.output_names[0]),
                    write_gradient(request.node.inputs[k])},
                   [rows, taken_where, n = shape.elements(), threads = request.threads](const Buffers& buffers) {
                     T* diff = buffers.as<T>(2);
                     std::fill_n(diff, n, T(0));
                     const auto add_part = [&](std::int64_t to, const auto& from, std::int64_t count) {
                       const bool* condition = buffers.as<const bool>(0) + from[0];
                       const T* dy = buffers.as<const T>(1) + to;
                       for (std::int64_t i = 0; i < count; ++i) {
                         if (condition[i * rows.stride(0)] == taken_where) diff[from[1] + i * rows.stride(1)] += dy[i];
                       }
                     };
                     rows.for_each_part_adding_to(1, threads, add_part);
                   });
}

}  // namespace

Result<NodeKernels> make_where(const KernelRequest& request) {
  return for_any_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(where_forward<T>(request));
    if constexpr (std::is_floating_point_v<T>) {
      for (const std::size_t k : {1, 2}) {
        if (wants_gradient(request, k)) kernels.backward.push_back(where_gradient<T>(request, k));
      }
    }
    return kernels;
  });
}

}  // namespace mangrove::portable
