#include <algorithm>
#include <cstring>

#include "mangrove/engine/portable/element_type.h"
#include "mangrove/engine/portable/kernels.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/constant_values.h"

namespace mangrove::portable {
namespace {

// Writes the value anew in every run, so that its memory may be shared with others.
NodeKernels write_kernels(const KernelRequest& request, const Tensor& value) {
  NodeKernels kernels;
  kernels.forward.push_back(
      make_step(request, "forward", {write_value(request.output_names[0])}, [value](const Buffers& buffers) {
        std::memcpy(buffers.as<std::byte>(0), value.data(), static_cast<std::size_t>(value.bytes()));
      }));
  return kernels;
}

Result<NodeKernels> make_constant(const KernelRequest& request) {
  MG_TRY(const Tensor value, constant_value(request.node));
  return write_kernels(request, value);
}

Result<NodeKernels> make_constant_of_shape(const KernelRequest& request) {
  MG_TRY(const Tensor value, fill_value(request.node));
  const std::int64_t elements = request.outputs[0].shape.elements();
  NodeKernels kernels;
  for_element_type(value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels.forward.push_back(make_step(request, "forward", {write_value(request.output_names[0])},
                                        [elements, fill = value.as<T>()[0]](const Buffers& buffers) {
                                          std::fill_n(buffers.as<T>(0), elements, fill);
                                        }));
  });
  return kernels;
}

Result<NodeKernels> make_shape(const KernelRequest& request) {
  const Shape& input = request.inputs[0].shape;
  const auto [first, last] = shape_range(request.node, input);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = first; i < last; ++i) sizes.push_back(input[i]);
  return write_kernels(request, Tensor::of<std::int64_t>(request.outputs[0].shape, sizes));
}

Result<NodeKernels> make_size(const KernelRequest& request) {
  return write_kernels(request, Tensor::of<std::int64_t>(Shape{}, {request.inputs[0].shape.elements()}));
}

Result<NodeKernels> make_range(const KernelRequest& request) {
  MG_TRY(const Tensor values, range_values(request.constants));
  return write_kernels(request, values);
}

Result<NodeKernels> make_eye_like(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  const std::int64_t rows = shape[0], columns = shape[1];
  const std::int64_t k = std::clamp(request.node.int_or("k", 0), -rows, columns);  // beyond them there is no diagonal
  NodeKernels kernels;
  for_element_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels.forward.push_back(
        make_step(request, "forward", {write_value(request.output_names[0])}, [=](const Buffers& buffers) {
          T* y = buffers.as<T>(0);
          std::fill_n(y, rows * columns, T(0));
          for (std::int64_t row = std::max<std::int64_t>(-k, 0); row < std::min(rows, columns - k); ++row)
            y[row * columns + row + k] = T(1);
        }));
  });
  return kernels;
}

Result<NodeKernels> make_non_zero(const KernelRequest& request) {
  MG_TRY(const Tensor positions, non_zero_positions(request.constants[0]));
  return write_kernels(request, positions);
}

}  // namespace

std::vector<KernelRow> constants() {
  return {{"Constant", make_constant}, {"ConstantOfShape", make_constant_of_shape},
          {"EyeLike", make_eye_like},  {"NonZero", make_non_zero},
          {"Range", make_range},       {"Shape", make_shape},
          {"Size", make_size}};
}

}  // namespace mangrove::portable
