#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "mangrove/engine/compiled_stage.h"

namespace mangrove::infer {

/// The compiled parts of a network that a node has from one placement to the next. A key identifies a part.
/// threads: one at a time.
class CompiledParts {
 public:
  /// micro_batch: samples that parts are compiled for.
  explicit CompiledParts(std::int64_t micro_batch) : micro_batch_(micro_batch) {}

  /// Frees all parts but these.
  void keep(const std::set<std::string>& keys);
  /// The part of this key, compiled if it is not there, with all its memory touched. errors: those of `compile`.
  Result<CompiledStage*> get(const std::string& key,
                             const std::function<Result<std::unique_ptr<CompiledStage>>()>& compile);

 private:
  const std::int64_t micro_batch_;
  std::map<std::string, std::unique_ptr<CompiledStage>> parts_;
};

}  // namespace mangrove::infer
