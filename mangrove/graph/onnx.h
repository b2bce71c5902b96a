#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/file.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// ONNX, https://github.com/onnx/onnx/blob/main/docs/IR.md. Opsets 7-17 are read, IR 8 / opset 17 is written.

/// errors: data_loss (not an ONNX file, or truncated), unimplemented (an operator, opset or type that is not supported;
/// the message names node and operator), invalid_argument (see Graph::create). Never crashes on hostile bytes.
Result<Graph> parse_onnx(std::string_view bytes);
Result<Graph> load_onnx(const fs::path& path);

std::string encode_onnx(const Graph& graph);
/// Atomic: see write_file_atomically.
Status save_onnx(const Graph& graph, const fs::path& path);

}  // namespace mangrove
