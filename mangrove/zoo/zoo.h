#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/graph/graph.h"

namespace mangrove::zoo {

/// What a model builder needs to know.
struct ModelOptions {
  Shape sample_shape{1, 28, 28};  // [C, H, W] of one input
  std::int64_t classes = 10;
  std::uint64_t seed = 1;  // of the initial weights
};

struct ModelEntry {
  std::string_view name;
  std::string_view summary;  // one line, with the source paper
  Result<Graph> (*build)(const ModelOptions&);
};

/// Every model, sorted by name.
std::span<const ModelEntry> models();

/// Builds a model of the table: input "input" [N, C, H, W] f32, output "logits" [N, classes] f32.
/// errors: not_found (unknown name; the message suggests the nearest), invalid_argument (sample too small for it).
Result<Graph> build_model(std::string_view name, const ModelOptions& options);

}  // namespace mangrove::zoo
