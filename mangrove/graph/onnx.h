#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "mangrove/base/file.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// ONNX, https://github.com/onnx/onnx/blob/main/docs/IR.md. Opsets 7-21 are read; opset 17 with IR 8 is written, or the
/// opset that brought an operator which 17 has not (18: Mish; 20: Gelu). 16-bit floats are read as f32.

struct LoadOptions {
  /// Shapes of inputs by name, for a model with open dimensions other than the batch; a dimension may be kBatch. Where
  /// the file has 1 in dimension 0, kBatch asks for open_batch, whose errors are then those of loading.
  std::map<std::string, Shape> input_shapes = {};
  /// Whether a file that fixes the batch to 1 is taken for any batch where open_batch proves that this is the same;
  /// else it stays as it is. Not done for inputs in input_shapes.
  bool open_batch_of_one = false;
};

/// Other opsets become opset 17 and computations of shapes their results: see upgrade_opset and fold_shapes. A file may
/// have tensors in other files of its folder and below it (ExternalData); for parse_onnx there is no folder.
/// errors: data_loss (not an ONNX file, or truncated), unimplemented (an operator, opset or type that is not supported,
/// a shape that depends on data; the message names node and operator), invalid_argument (see Graph::create; a given
/// shape that does not fit), not_found (a shape for an input that is not there). Never crashes on hostile bytes.
Result<Graph> parse_onnx(std::string_view bytes, const LoadOptions& options = {});
Result<Graph> load_onnx(const fs::path& path, const LoadOptions& options = {});

/// One tensor in ONNX's format (a TensorProto), as in the `input_0.pb` files of ONNX's operator tests.
/// errors: data_loss (not a tensor, truncated, dimensions and data do not fit), unimplemented (external data, a type
/// that Tensor lacks). Allocates no more than `bytes` has.
Result<Tensor> parse_onnx_tensor(std::string_view bytes);

/// The batch is the symbolic dimension "N". Weights are written bit by bit; parse_onnx of the result gives the same
/// parts. The format ends at 2 GiB: a larger graph is a programming error here, and an error of save_onnx.
std::string encode_onnx(const Graph& graph);
/// Atomic: see write_file_atomically. errors: its own; out_of_range (the file would exceed 2 GiB).
Status save_onnx(const Graph& graph, const fs::path& path);

/// A network whose larger parameters are elsewhere, for those who need only some of them.
struct OnnxOutline {
  Graph graph;                                   // the parameters of `locations` are zeros that take up no memory
  std::map<std::string, std::string> locations;  // by name of a parameter: where its elements are
};

/// Does the same as encode_onnx, but a parameter of `least` bytes or more becomes external data of ONNX: the result has
/// its type, its shape and location(parameter), and not its elements.
std::string encode_onnx_outline(const Graph& graph, Bytes least,
                                const std::function<std::string(const Tensor& parameter)>& location);
/// Reads what encode_onnx_outline has written. errors: those of parse_onnx; data_loss (a parameter without a location,
/// or of an impossible size); resource_exhausted (more than 2 GiB of parameters).
Result<OnnxOutline> parse_onnx_outline(std::string_view bytes);

}  // namespace mangrove
