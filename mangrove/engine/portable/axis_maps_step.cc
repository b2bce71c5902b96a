#include "mangrove/engine/portable/axis_maps_step.h"

#include "mangrove/engine/portable/element_type.h"
#include "mangrove/engine/portable/portable_step.h"

namespace mangrove::portable {

NodeKernels axis_maps_kernels(const KernelRequest& request, const AxisMaps& maps, double fill) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  NodeKernels kernels;
  for_element_type(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels.forward.push_back(
        make_step(request, "forward", {read_value(x), write_value(y)},
                  [maps, value = static_cast<T>(fill), threads = request.threads](const Buffers& buffers) {
                    maps.pick(threads, buffers.as<const T>(0), value, buffers.as<T>(1));
                  }));
    if (!wants_gradient(request, 0)) return;
    kernels.backward.push_back(make_step(request, "backward", {read_gradient(y), write_gradient(x)},
                                         [maps, threads = request.threads](const Buffers& buffers) {
                                           maps.add_back(threads, buffers.as<const T>(0), buffers.as<T>(1));
                                         }));
  });
  return kernels;
}

}  // namespace mangrove::portable
