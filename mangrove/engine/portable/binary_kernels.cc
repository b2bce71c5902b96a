#include "mangrove/engine/portable/binary_kernels.h"

#include <cstring>

namespace mangrove::portable {

Step binary_step(const KernelRequest& request, const std::array<std::int64_t, 3>& sizes, BinaryLoop loop) {
  const BroadcastRows rows({request.inputs[0].shape, request.inputs[1].shape}, request.outputs[0].shape);
  return make_step(
      request, "forward",
      {read_value(request.node.inputs[0]), read_value(request.node.inputs[1]), write_value(request.output_names[0])},
      [rows, sizes, loop = std::move(loop), threads = request.threads](const Buffers& buffers) {
        rows.for_each_part(threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
          loop({.elements = count,
                .a = buffers.as<const std::byte>(0) + from[0] * sizes[0],
                .along_a = rows.stride(0),
                .b = buffers.as<const std::byte>(1) + from[1] * sizes[1],
                .along_b = rows.stride(1)},
               buffers.as<std::byte>(2) + to * sizes[2]);
        });
      });
}

Step binary_gradient_step(const KernelRequest& request, std::size_t k, Reads reads,
                          const std::array<std::int64_t, 2>& sizes, BinaryGradientLoop loop) {
  std::vector<Operand> operands{read_gradient(request.output_names[0]), write_gradient(request.node.inputs[k])};
  const std::size_t at_a = operands.size();
  if (reads.a) operands.push_back(read_value(request.node.inputs[0]));
  const std::size_t at_b = operands.size();
  if (reads.b) operands.push_back(read_value(request.node.inputs[1]));
  const Shape& output = request.outputs[0].shape;
  const std::int64_t elements = request.inputs[k].shape.elements();
  // the gradient has its own strides: those of input k
  const BroadcastRows rows({request.inputs[0].shape, request.inputs[1].shape, request.inputs[k].shape}, output);
  const bool is_whole = elements == output.elements();  // each element is added to once
  return make_step(request, k == 0 ? "backward a" : "backward b", std::move(operands),
                   [=, loop = std::move(loop), threads = request.threads](const Buffers& buffers) {
                     alignas(double) static constexpr std::array<std::byte, sizeof(double)> kNone{};  // 0 of any type
                     std::byte* diff = buffers.as<std::byte>(1);
                     std::memset(diff, 0, static_cast<std::size_t>(elements * sizes[k]));
                     const auto add_part = [&](std::int64_t to, const auto& from, std::int64_t count) {
                       loop({.elements = count,
                             .a = reads.a ? buffers.as<const std::byte>(at_a) + from[0] * sizes[0] : kNone.data(),
                             .along_a = reads.a ? rows.stride(0) : 0,
                             .b = reads.b ? buffers.as<const std::byte>(at_b) + from[1] * sizes[1] : kNone.data(),
                             .along_b = reads.b ? rows.stride(1) : 0},
                            buffers.as<const std::byte>(0) + to * sizes[0], diff + from[2] * sizes[k], rows.stride(2));
                     };
                     if (is_whole) {
                       rows.for_each_part(threads, add_part);
                     } else {
                       rows.for_each_part_adding_to(2, threads, add_part);
                     }
                   });
}

}  // namespace mangrove::portable
