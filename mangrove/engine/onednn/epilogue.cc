#include "mangrove/engine/onednn/epilogue.h"

#include <cstring>

namespace mangrove::onednn {
namespace {

bool is_residual(const FusedNode& fused) {
  return fused.node.op == "Add" && fused.inputs[0].shape == fused.inputs[1].shape;
}

}  // namespace

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
  return step;
}

}  // namespace mangrove::onednn
