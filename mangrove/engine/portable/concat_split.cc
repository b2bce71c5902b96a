// Concat and Split: the same blocks of memory, one way and the other.
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/axis.h"

namespace mangrove::portable {
namespace {

// Copies between the whole and each part: part k is rows of the whole, one for each index before the axis.
struct Parts {
  std::vector<StridedCopy> from_whole;
  std::size_t element_bytes;
};

Parts parts_of(const ValueInfo& whole, std::span<const ValueInfo> infos, std::size_t axis) {
  Parts parts{{}, size_of(whole.dtype)};
  const std::int64_t rows = whole.shape.elements(0, axis), pitch = whole.shape.elements(axis, whole.shape.rank());
  std::int64_t offset = 0;
  for (const ValueInfo& info : infos) {
    const std::int64_t length = info.shape.elements(axis, info.shape.rank());
    parts.from_whole.push_back(coalesced({{rows, length}, {pitch, 1}, {length, 1}, offset, 0}));
    offset += length;
  }
  return parts;
}

// One part out of the whole: operand 0 to operand 1.
Step take_step(const KernelRequest& request, const std::string& what, const Parts& parts, std::size_t k, Operand whole,
               Operand part) {
  return make_step(
      request, what, {std::move(whole), std::move(part)},
      [copy = parts.from_whole[k], bytes = parts.element_bytes, threads = request.threads](const Buffers& buffers) {
        run(copy, bytes, threads, buffers.as<std::byte>(0), buffers.as<std::byte>(1));
      });
}

// All parts into the whole, the last operand.
Step join_step(const KernelRequest& request, const std::string& what, const Parts& parts,
               std::vector<Operand> operands) {
  return make_step(request, what, std::move(operands), [parts, threads = request.threads](const Buffers& buffers) {
    for (std::size_t k = 0; k < parts.from_whole.size(); ++k) {
      run(parts.from_whole[k].reversed(), parts.element_bytes, threads, buffers.as<std::byte>(k),
          buffers.as<std::byte>(parts.from_whole.size()));
    }
  });
}

}  // namespace

Result<NodeKernels> make_concat(const KernelRequest& request) {
  const ValueInfo& whole = request.outputs[0];
  MG_TRY(const std::size_t axis, resolve_axis(request.node.int_or("axis", 0), whole.shape));
  const Parts parts = parts_of(whole, request.inputs, axis);
  const std::string& y = request.output_names[0];
  std::vector<Operand> operands;
  for (const std::string& x : request.node.inputs) operands.push_back(read_value(x));
  operands.push_back(write_value(y));
  NodeKernels kernels;
  kernels.forward.push_back(join_step(request, "forward", parts, std::move(operands)));
  for (std::size_t k = 0; k < request.inputs.size(); ++k) {
    if (!wants_gradient(request, k)) continue;
    kernels.backward.push_back(
        take_step(request, "backward", parts, k, read_gradient(y), write_gradient(request.node.inputs[k])));
  }
  return kernels;
}

Result<NodeKernels> make_split(const KernelRequest& request) {
  const ValueInfo& whole = request.inputs[0];
  MG_TRY(const std::size_t axis, resolve_axis(request.node.int_or("axis", 0), whole.shape));
  const Parts parts = parts_of(whole, request.outputs, axis);
  const std::string& x = request.node.inputs[0];
  NodeKernels kernels;
  std::vector<Operand> gradients;
  for (std::size_t k = 0; k < request.outputs.size(); ++k) {
    kernels.forward.push_back(
        take_step(request, "forward", parts, k, read_value(x), write_value(request.output_names[k])));
    gradients.push_back(read_gradient(request.output_names[k]));
  }
  if (!wants_gradient(request, 0)) return kernels;
  gradients.push_back(write_gradient(x));
  kernels.backward.push_back(join_step(request, "backward", parts, std::move(gradients)));
  return kernels;
}

}  // namespace mangrove::portable
