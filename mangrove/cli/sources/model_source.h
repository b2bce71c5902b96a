#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "mangrove/base/keys.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/model_signature.h"
#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// What a model of the zoo is built for; an ONNX file has its own sizes, but for open dimensions.
struct ModelSettings {
  std::string sample_shape;  // "3,224,224"; empty: that of the model's paper
  std::int64_t classes = 0;  // 0: as many as in the model's paper
  std::int64_t seed = 1;
  std::string input_shape;  // of an ONNX file, see load_model
  void declare(Keys& keys);
};

/// "3,224,224" as a shape. errors: invalid_argument.
Result<Shape> parse_shape(const std::string& text);

/// The help of the key input_shape.
constexpr const char* kInputShapeHelp =
    "shape of an ONNX file's input that has open dimensions, e.g. image=Nx3x224x224 (N: the batch); several with "
    "commas "
    "between";

/// "x=Nx3x224x224,y=5": shapes of inputs by name; N is the symbolic batch. errors: invalid_argument.
Result<std::map<std::string, Shape>> parse_input_shapes(const std::string& text);

/// What a file's name has behind it where its signature is: model.onnx.sig beside model.onnx.
constexpr const char* kSignatureEnding = ".sig";

/// Reads the signature beside a network. errors: not_found (there is none), invalid_argument (longer than a signature,
/// or those of ModelSignature::parse()), those of read_file().
Result<cluster::ModelSignature> load_signature(const std::string& path);

/// A model file: ONNX, its open dimensions as the key input_shape says, or a coded one (see compress::parse_model); its
/// first bytes tell which. If a signature lies beside it, it must be of this file; who has signed it is not asked (see
/// `mangrove model verify`).
/// errors: those of load_onnx, compress::parse_model and parse_input_shapes; invalid_argument (the signature is of
/// another file, a shape that a coded file does not have).
Result<Graph> load_model(const std::string& path, const std::string& input_shape);

/// Whether `model` names a model file, *.onnx or *.mgz, rather than a model of the zoo.
bool is_model_file(const std::string& model);

/// A model of the zoo for these settings, or an ONNX file.
/// errors: those of zoo::build_model and load_model.
Result<Graph> open_model(const std::string& model, const ModelSettings& settings);

}  // namespace mangrove::cli
