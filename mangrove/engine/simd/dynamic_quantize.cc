#include <algorithm>
#include <cmath>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/quantization.h"
#include "mangrove/engine/simd/byte_loops.h"
#include "mangrove/engine/simd/kernels.h"

namespace mangrove::simd {
namespace {

struct ValueRange {
  float low = 0, high = 0;
};

/// The range of x, widened to hold 0. `parts`: scratch space, one for each of `threads` threads.
ValueRange range_with_zero(const float* x, std::int64_t elements, ValueRange* parts, int threads) {
  in_parallel(threads, threads, [&](std::int64_t i) {
    const std::int64_t first = elements * i / threads, last = elements * (i + 1) / threads;
    ValueRange range;
    byte_loops().widen_range(last - first, x + first, &range.low, &range.high);
    parts[i] = range;
  });
  ValueRange range = parts[0];
  for (int i = 1; i < threads; ++i) {
    range = {.low = std::min(range.low, parts[i].low), .high = std::max(range.high, parts[i].high)};
  }
  return range;
}

}  // namespace

Result<NodeKernels> make_dynamic_quantize(const KernelRequest& request, const LayoutPtr& x_layout,
                                          const LayoutPtr& y_layout) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  const int threads = threads_for(elements, request.threads);
  portable::OperandList operands;
  Operand x = portable::read_value(request.node.inputs[0]), y = portable::write_value(request.output_names[0]);
  x.layout = x_layout;
  y.layout = y_layout;
  operands.add(std::move(x));
  operands.add(std::move(y));
  const auto output = [&](std::size_t i) {
    return operands.add_if(portable::has_output(request, i),
                           [&] { return portable::write_value(request.output_names[i]); });
  };
  const std::size_t scale = output(1), zero_point = output(2);
  NodeKernels kernels;
  kernels.forward.push_back(portable::make_step_with_workspace(
      request, "forward", operands.take(), threads * static_cast<Bytes>(sizeof(ValueRange)),
      [=](const portable::Buffers& buffers, std::byte* workspace) {
        const float* const from = buffers.as<const float>(0);
        std::uint8_t* const to = buffers.as<std::uint8_t>(1);
        const auto [low, high] = range_with_zero(from, elements, reinterpret_cast<ValueRange*>(workspace), threads);
        const float of_scale = high > low ? (high - low) / 255 : 1;
        const auto of_zero = portable::quantized<std::uint8_t>(-low / of_scale, 0);
        in_ranges(elements, threads, [&](std::int64_t first, std::int64_t last) {
          byte_loops().quantize(last - first, from + first, of_scale, of_zero, to + first);
        });
        if (float* out = buffers.as<float>(scale)) *out = of_scale;
        if (std::uint8_t* out = buffers.as<std::uint8_t>(zero_point)) *out = of_zero;
      }));
  return kernels;
}

Result<NodeKernels> make_plain_dynamic_quantize(const KernelRequest& request) {
  return make_dynamic_quantize(request, nullptr, nullptr);
}

}  // namespace mangrove::simd
