#include "mangrove/infer/pipeline/compiled_parts.h"

#include <algorithm>

namespace mangrove::infer {

void CompiledParts::keep(const std::set<std::string>& keys) {
  std::erase_if(parts_, [&](const auto& part) { return !keys.contains(part.first); });
}

Result<CompiledStage*> CompiledParts::get(const std::string& key,
                                          const std::function<Result<std::unique_ptr<CompiledStage>>()>& compile) {
  std::unique_ptr<CompiledStage>& part = parts_[key];
  if (part == nullptr) {
    MG_TRY(part, compile());
    std::ranges::fill(part->input(micro_batch_), 0.0f);
    part->run(micro_batch_);  // touches all memory before the time counts
  }
  return part.get();
}

}  // namespace mangrove::infer
