// Transpose, and DepthToSpace and SpaceToDepth, which are transposes of other views.
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/movement_geometry.h"

namespace mangrove::portable {
namespace {

Step transpose_step(const KernelRequest& request, const std::string& what, const StridedCopy& copy, Operand from,
                    Operand to) {
  const std::size_t bytes = size_of(request.inputs[0].dtype);
  return make_step(request, what, {std::move(from), std::move(to)},
                   [copy, bytes, threads = request.threads](const Buffers& buffers) {
                     run(copy, bytes, threads, buffers.as<std::byte>(0), buffers.as<std::byte>(1));
                   });
}

// Dimension i of the result is dimension permutation[i] of `dims`.
NodeKernels permuting_kernels(const KernelRequest& request, const std::vector<std::int64_t>& dims,
                              const std::vector<std::size_t>& permutation) {
  const std::vector<std::int64_t> strides = dense_strides(dims);
  StridedCopy copy;
  for (const std::size_t from : permutation) {
    copy.dims.push_back(dims[from]);
    copy.from_strides.push_back(strides[from]);
  }
  copy.to_strides = dense_strides(copy.dims);
  copy = coalesced(copy);
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  NodeKernels kernels;
  kernels.forward.push_back(transpose_step(request, "forward", copy, read_value(x), write_value(y)));
  if (wants_gradient(request, 0)) {
    kernels.backward.push_back(
        transpose_step(request, "backward", copy.reversed(), read_gradient(y), write_gradient(x)));
  }
  return kernels;
}

}  // namespace

Result<NodeKernels> make_transpose(const KernelRequest& request) {
  const Shape& data = request.inputs[0].shape;
  MG_TRY(const std::vector<std::size_t> permutation, permutation_of(request.node, data));
  return permuting_kernels(request, data.dims(), permutation);
}

Result<NodeKernels> make_blocks(const KernelRequest& request) {
  MG_TRY(const BlockGeometry geometry, block_geometry(request.node, request.inputs[0].shape));
  return permuting_kernels(request, geometry.dims, geometry.permutation);
}

}  // namespace mangrove::portable
