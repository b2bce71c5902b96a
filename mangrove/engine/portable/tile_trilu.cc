#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/axis_maps_step.h"
#include "mangrove/engine/portable/element_type.h"
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/movement_geometry.h"

namespace mangrove::portable {
namespace {

template <class T>
Step triangle_step(const KernelRequest& request, const char* what, std::vector<Operand> operands,
                   const Triangle& triangle) {
  const Shape& shape = request.inputs[0].shape;
  const std::int64_t height = shape[shape.rank() - 2], width = shape[shape.rank() - 1];
  const std::int64_t rows = shape.elements(0, shape.rank() - 1);
  Step step = make_step(request, what, std::move(operands), [=, threads = request.threads](const Buffers& buffers) {
    in_parallel(rows, threads_for(rows * width, threads), [&](std::int64_t row) {
      const T* from = buffers.as<const T>(0) + row * width;
      T* to = buffers.as<T>(1) + row * width;
      for (std::int64_t column = 0; column < width; ++column)
        to[column] = triangle.keeps(row % height, column) ? from[column] : T(0);
    });
  });
  step.in_place = {0, 1};
  return step;
}

}  // namespace

Result<NodeKernels> make_tile(const KernelRequest& request) {
  const Shape& data = request.inputs[0].shape;
  MG_TRY(const std::vector<std::int64_t> repeats, tile_repeats(data, request.constants));
  std::vector<std::vector<std::int64_t>> maps(data.rank());
  for (std::size_t axis = 0; axis < data.rank(); ++axis) {
    for (std::int64_t i = 0; i < data[axis] * repeats[axis]; ++i) maps[axis].push_back(i % data[axis]);
  }
  return axis_maps_kernels(request, AxisMaps(data, maps), 0);
}

Result<NodeKernels> make_trilu(const KernelRequest& request) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  MG_TRY(const Triangle triangle, triangle_of(request.node, request.inputs[0].shape, request.constants));
  NodeKernels kernels;
  for_element_type(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels.forward.push_back(triangle_step<T>(request, "forward", {read_value(x), write_value(y)}, triangle));
    if (!wants_gradient(request, 0)) return;
    kernels.backward.push_back(triangle_step<T>(request, "backward", {read_gradient(y), write_gradient(x)}, triangle));
  });
  return kernels;
}

}  // namespace mangrove::portable
