#include "mangrove/engine/simd/epilogue.h"

namespace mangrove::simd {
namespace {

std::optional<Bounds> bounds_of(const FusedNode& fused) {
  if (fused.node.op == "Relu") return Bounds{.low = 0};
  if (fused.node.op != "Clip") return std::nullopt;
  const std::optional<ClipBounds> clip = clip_bounds(fused.node, fused.constants);
  if (!clip) return std::nullopt;
  return Bounds{clip->low, clip->high};
}

}  // namespace

std::optional<Epilogue> find_epilogue(const KernelRequest& request) {
  Epilogue epilogue;
  auto next = request.epilogue.begin();
  if (next != request.epilogue.end() && is_residual(*next)) epilogue.residual = &*next++;
  if (next != request.epilogue.end()) {
    epilogue.bounds = bounds_of(*next++);
    if (!epilogue.bounds) return std::nullopt;
  }
  if (next != request.epilogue.end()) return std::nullopt;
  return epilogue;
}

std::set<std::string> image_values(const KernelRequest& request) {
  std::set<std::string> values{request.node.inputs[0], request.output_names[0]};
  const std::optional<Epilogue> epilogue = find_epilogue(request);
  if (epilogue && epilogue->residual != nullptr) values.insert(epilogue->residual_value());
  return values;
}

}  // namespace mangrove::simd
