#include <algorithm>

#include "mangrove/engine/portable/broadcast_rows.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {
namespace {

// y = a + b where neither is broadcast; y may be a.
template <class T>
Step same_shape_forward(const KernelRequest& request, std::int64_t elements) {
  Step step = make_step(
      request, "forward",
      {read_value(request.node.inputs[0]), read_value(request.node.inputs[1]), write_value(request.output_names[0])},
      [elements](const Buffers& buffers) {
        const T *a = buffers.as<const T>(0), *b = buffers.as<const T>(1);
        T* y = buffers.as<T>(2);
        for (std::int64_t i = 0; i < elements; ++i) y[i] = a[i] + b[i];
      });
  step.in_place = {0, 2};
  return step;
}

template <class T>
Step broadcast_forward(const KernelRequest& request, std::int64_t elements) {
  const Shape& output = request.outputs[0].shape;
  const BroadcastRows a(request.inputs[0].shape, output), b(request.inputs[1].shape, output);
  return make_step(
      request, "forward",
      {read_value(request.node.inputs[0]), read_value(request.node.inputs[1]), write_value(request.output_names[0])},
      [=](const Buffers& buffers) {
        T* y = buffers.as<T>(2);
        std::fill_n(y, elements, T(0));
        add_broadcast(a, T(1), buffers.as<const T>(0), y);
        add_broadcast(b, T(1), buffers.as<const T>(1), y);
      });
}

template <class T>
NodeKernels kernels_of(const KernelRequest& request) {
  const Shape& output = request.outputs[0].shape;
  const bool same_shape = request.inputs[0].shape == output && request.inputs[1].shape == output;
  NodeKernels kernels;
  kernels.forward.push_back(same_shape ? same_shape_forward<T>(request, output.elements())
                                       : broadcast_forward<T>(request, output.elements()));
  for (std::size_t i = 0; i < 2; ++i) {
    if (!wants_gradient(request, i)) continue;
    const BroadcastRows rows(request.inputs[i].shape, output);
    const std::int64_t elements = request.inputs[i].shape.elements();
    kernels.backward.push_back(
        make_step(request, i == 0 ? "backward a" : "backward b",
                  {read_gradient(request.output_names[0]), write_gradient(request.node.inputs[i])},
                  [rows, elements](const Buffers& buffers) {
                    sum_broadcast(rows, T(1), buffers.as<const T>(0), elements, buffers.as<T>(1));
                  }));
  }
  return kernels;
}

Result<NodeKernels> make_add(const KernelRequest& request) {
  return for_type(request.outputs[0].dtype, [&](auto zero) { return kernels_of<decltype(zero)>(request); });
}

}  // namespace

std::vector<KernelRow> arithmetic() {
  return {{"Add", make_add}};
}

}  // namespace mangrove::portable
