#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/cli/keys.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// What a model of the zoo is built for; an ONNX file has its own sizes.
struct ModelSettings {
  std::string sample_shape;  // "3,224,224"; empty: that of the model's paper
  std::int64_t classes = 0;  // 0: as many as in the model's paper
  std::int64_t seed = 1;
  void declare(Keys& keys);
};

/// "3,224,224" as a shape. errors: invalid_argument.
Result<Shape> parse_shape(const std::string& text);

/// Whether `model` names an ONNX file rather than a model of the zoo.
bool is_model_file(const std::string& model);

/// A model of the zoo for these settings, or an ONNX file.
/// errors: those of zoo::build_model and load_onnx.
Result<Graph> open_model(const std::string& model, const ModelSettings& settings);

}  // namespace mangrove::cli
