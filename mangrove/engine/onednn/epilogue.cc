#include "mangrove/engine/onednn/epilogue.h"

#include <cstring>

#include "mangrove/engine/fused_node.h"

namespace mangrove::onednn {

std::optional<Epilogue> find_epilogue(const KernelRequest& request) {
  Epilogue epilogue;
  auto next = request.epilogue.begin();
  if (next != request.epilogue.end() && is_residual(*next)) epilogue.residual = &*next++;
  if (next != request.epilogue.end() && find_activation(next->node, next->constants)) epilogue.activation = &*next++;
  if (next != request.epilogue.end()) return std::nullopt;
  return epilogue;
}

bool fuses_activation(const KernelRequest& request) {
  const auto epilogue = find_epilogue(request);
  return epilogue && epilogue->residual == nullptr;
}

bool fuses_residual_and_activation(const KernelRequest& request) {
  const auto epilogue = find_epilogue(request);
  return epilogue && (epilogue->residual == nullptr || request.mode == Mode::inference);
}

dnnl::primitive_attr attributes_with_epilogue(const KernelRequest& request) {
  const Epilogue epilogue = find_epilogue(request).value();
  dnnl::primitive_attr attributes = user_scratchpad();
  dnnl::post_ops after;
  if (epilogue.residual != nullptr) after.append_sum();
  if (const FusedNode* fused = epilogue.activation) {
    const Activation activation = *find_activation(fused->node, fused->constants);
    after.append_eltwise(1.0f, activation.forward, activation.alpha, activation.beta);
  }
  attributes.set_post_ops(after);
  return attributes;
}

namespace {

/// The slices of a step whose operand `dst` must hold the residual, its last operand, before it runs.
Slicing slices_onto_residual(Slicing slicing, std::size_t dst, std::size_t bytes) {
  slicing.split.push_back(true);
  slicing.make = [make = std::move(slicing.make), dst, bytes](int slices) -> Result<SlicedStep> {
    MG_TRY(SlicedStep step, make(slices));
    step.bind = [bind = std::move(step.bind), dst, bytes = bytes / static_cast<std::size_t>(slices)](
                    std::span<const SliceBuffer> buffers, std::byte* workspace) -> SlicedStep::Bound {
      SlicedStep::Bound primitive = bind(buffers.first(buffers.size() - 1), workspace);
      if (buffers.back().start == buffers[dst].start) return primitive;
      return [primitive = std::move(primitive), to = buffers[dst], from = buffers.back(), bytes](int slice) {
        std::memcpy(to.start + slice * to.stride, from.start + slice * from.stride, bytes);
        primitive(slice);
      };
    };
    return step;
  };
  return slicing;
}

}  // namespace

Step onto_residual(Step step, std::size_t dst, const Desc& desc, const KernelRequest& request) {
  const FusedNode& fused = *find_epilogue(request).value().residual;
  const std::size_t residual = step.operands.size();
  Operand operand = step.operands[dst];
  operand.access = Operand::Access::read;
  operand.name = fused.node.inputs[1 - fused.input];
  step.operands.push_back(std::move(operand));
  step.in_place = {residual, dst};
  step.bind = [bind = std::move(step.bind), bytes = desc.get_size(), dst, residual](
                  std::span<std::byte* const> buffers, std::byte* workspace) -> Step::Bound {
    Step::Bound primitive = bind(buffers.first(residual), workspace);
    if (buffers[residual] == buffers[dst]) return primitive;
    return [primitive = std::move(primitive), to = buffers[dst], from = buffers[residual], bytes] {
      std::memcpy(to, from, bytes);
      primitive();
    };
  };
  if (step.slicing) step.slicing = slices_onto_residual(*std::move(step.slicing), dst, desc.get_size());
  return step;
}

}  // namespace mangrove::onednn
