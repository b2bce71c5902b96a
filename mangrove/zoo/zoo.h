#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::zoo {

/// What a model builder needs to know.
struct ModelOptions {
  Shape sample_shape{1, 28, 28};  // of one input: [C, H, W] of an image, [C, T] of a window of sensor channels
  std::int64_t classes = 10;
  std::uint64_t seed = 1;  // of the initial weights
};

/// Models that differ in numbers only: "resnet-D".
struct ModelFamily {
  std::string_view stem;     // "resnet": its models are called "resnet" or "resnet-..."
  std::string_view pattern;  // how names are made, with what they may hold
  std::string_view summary;  // one line
  std::string_view source;   // the paper
};
std::span<const ModelFamily> model_families();

/// A model that people ask for, as its paper counts it: for a sample of this shape and so many classes.
struct ModelEntry {
  std::string_view name;
  Shape sample_shape;
  std::int64_t classes;
  std::int64_t parameters;
  std::int64_t multiply_adds;  // of convolutions, recurrent and dense layers, for one sample
};
/// In the order of the families.
std::span<const ModelEntry> models();
/// The family of a model's name. Null where none has it.
const ModelFamily* find_family(std::string_view name);

/// Builds a model: one of models(), or any other that a family's pattern gives ("wrn-16-4"). Input "input" [N, sample
/// shape...] f32, output "logits" [N, classes] f32, with early exits before it "exit1", "exit2" ... alike; initial
/// weights as the family's paper or its authors' code has them. errors: not_found (unknown name; the message suggests
/// the nearest, or says what the family takes), invalid_argument (a sample shape that does not fit it),
/// resource_exhausted.
Result<Graph> build_model(std::string_view name, const ModelOptions& options);

/// Whether build_model knows the name, whatever the samples are. cost: at most that of building it for a small sample.
/// errors: not_found, as build_model says it.
Status check_model_name(std::string_view name);

}  // namespace mangrove::zoo
