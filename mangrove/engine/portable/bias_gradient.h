#pragma once

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/engine/portable/vector_ops.h"

namespace mangrove::portable {

/// The gradient of a convolution's bias, input 2: of each channel the sum of the gradient of its result, which has the
/// shape [batch, channels, plane].
template <class T>
Step bias_gradient_step(const KernelRequest& request, std::int64_t batch, std::int64_t channels, std::int64_t plane) {
  return make_step(request, "backward bias",
                   {read_gradient(request.output_names[0]), write_gradient(request.node.inputs[2])},
                   [=, threads = request.threads](const Buffers& buffers) {
                     const T* diff_dst = buffers.as<const T>(0);
                     in_parallel(channels, threads, [&](std::int64_t channel) {
                       T total = 0;
                       for (std::int64_t i = 0; i < batch; ++i)
                         total += sum(plane, diff_dst + (i * channels + channel) * plane);
                       buffers.as<T>(1)[channel] = total;
                     });
                   });
}

}  // namespace mangrove::portable
