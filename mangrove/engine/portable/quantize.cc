#include <algorithm>

#include "mangrove/engine/portable/quantization.h"

namespace mangrove::portable {
namespace {

/// The elements as runs that share a channel of the node's axis.
struct Runs {
  explicit Runs(const KernelRequest& request) {
    const Shape& shape = request.inputs[0].shape;
    const auto rank = static_cast<std::int64_t>(shape.rank());
    const std::int64_t given = request.node.int_or("axis", 1);
    const auto axis =
        static_cast<std::size_t>(given < 0 ? given + rank : std::min(given, std::max<std::int64_t>(rank - 1, 0)));
    scales = request.inputs[1].shape.elements();
    zero_points = has_input(request, 2) ? request.inputs[2].shape.elements() : 0;
    if (std::max(scales, zero_points) <= 1) {
      length = shape.elements();
      return;
    }
    outer = shape.elements(0, axis);
    channels = shape[axis];
    length = shape.elements(axis + 1, shape.rank());
  }

  /// visit(offset of the run, its channel)
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t run = 0; run < outer * channels; ++run) visit(run * length, run % channels);
  }

  std::int64_t outer = 1, channels = 1, length = 0;
  std::int64_t scales = 1, zero_points = 0;
};

std::vector<Operand> operands_of(const KernelRequest& request) {
  std::vector<Operand> operands{read_value(request.node.inputs[0]), read_value(request.node.inputs[1]),
                                write_value(request.output_names[0])};
  if (has_input(request, 2)) operands.push_back(read_value(request.node.inputs[2]));
  return operands;
}

template <class T>
PerChannel<T> zero_points(const Runs& runs, const Buffers& buffers) {
  return {runs.zero_points == 0 ? nullptr : buffers.as<const T>(3), runs.zero_points};
}

template <class X, class Y>
NodeKernels quantize_kernels(const KernelRequest& request) {
  const Runs runs(request);
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", operands_of(request), [runs](const Buffers& buffers) {
    const X* x = buffers.as<const X>(0);
    Y* y = buffers.as<Y>(2);
    const PerChannel<float> scale{buffers.as<const float>(1), runs.scales};
    const PerChannel<Y> zero_point = zero_points<Y>(runs, buffers);
    runs.for_each([&](std::int64_t at, std::int64_t channel) {
      for (std::int64_t i = at; i < at + runs.length; ++i) {
        y[i] = quantized(static_cast<float>(x[i]) / scale[channel], zero_point[channel]);
      }
    });
  }));
  return kernels;
}

template <class X>
NodeKernels dequantize_kernels(const KernelRequest& request) {
  const Runs runs(request);
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", operands_of(request), [runs](const Buffers& buffers) {
    const X* x = buffers.as<const X>(0);
    float* y = buffers.as<float>(2);
    const PerChannel<float> scale{buffers.as<const float>(1), runs.scales};
    const PerChannel<X> zero_point = zero_points<X>(runs, buffers);
    runs.for_each([&](std::int64_t at, std::int64_t channel) {
      for (std::int64_t i = at; i < at + runs.length; ++i) {
        y[i] = static_cast<float>(x[i] - zero_point[channel]) * scale[channel];
      }
    });
  }));
  return kernels;
}

/// Scale and zero point of the range of x, widened to hold 0, in 255 steps.
void quantize_by_range(const float* x, std::int64_t elements, std::uint8_t* y, float* scale, std::uint8_t* zero_point) {
  float low = 0, high = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  *scale = high > low ? (high - low) / 255 : 1;
  *zero_point = quantized<std::uint8_t>(-low / *scale, 0);
  for (std::int64_t i = 0; i < elements; ++i) y[i] = quantized(x[i] / *scale, *zero_point);
}

}  // namespace

Result<NodeKernels> make_quantize(const KernelRequest& request) {
  return for_byte_types(request.outputs[0].dtype, request.outputs[0].dtype, [&](auto y, auto) {
    using Y = decltype(y);
    return request.inputs[0].dtype == DType::f32 ? quantize_kernels<float, Y>(request)
                                                 : quantize_kernels<std::int32_t, Y>(request);
  });
}

Result<NodeKernels> make_dequantize(const KernelRequest& request) {
  return for_one_of<std::uint8_t, std::int8_t, std::int32_t>(
      request.inputs[0].dtype, [&](auto x) { return dequantize_kernels<decltype(x)>(request); });
}

Result<NodeKernels> make_dynamic_quantize(const KernelRequest& request) {
  const std::int64_t elements = request.inputs[0].shape.elements();
  OperandList operands;
  operands.add(read_value(request.node.inputs[0]));
  operands.add(write_value(request.output_names[0]));
  const auto output = [&](std::size_t i) {
    return operands.add_if(has_output(request, i), [&] { return write_value(request.output_names[i]); });
  };
  const std::size_t scale = output(1), zero_point = output(2);
  NodeKernels kernels;
  kernels.forward.push_back(make_step(request, "forward", operands.take(), [=](const Buffers& buffers) {
    float of_scale = 1;
    std::uint8_t of_zero_point = 0;
    quantize_by_range(buffers.as<const float>(0), elements, buffers.as<std::uint8_t>(1), &of_scale, &of_zero_point);
    if (float* out = buffers.as<float>(scale)) *out = of_scale;
    if (std::uint8_t* out = buffers.as<std::uint8_t>(zero_point)) *out = of_zero_point;
  }));
  return kernels;
}

}  // namespace mangrove::portable
