#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <map>
#include <optional>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/onnx.pb.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// What a model's file holds.
struct OnnxFile {
  onnx::ModelProto model;  // without the initializers of its graph
  std::map<std::string, Tensor> initializers;
};

/// Reads a ModelProto field by field, so that of the graph's initializers, which are most of it, there is in memory at
/// any time no more than the tensors made of them and one as it stands in the file. size: of what `bytes` gives, at
/// most 2 GiB. Every length is checked against what is left of it before anything of that length is allocated. folder:
/// of the model, where initializers may have files of their own; without one they may not. errors: data_loss (not an
/// ONNX model, or truncated); those of decode_tensor and ExternalData, which name the initializer; invalid_argument
/// (two initializers of one name).
Result<OnnxFile> read_onnx_file(google::protobuf::io::ZeroCopyInputStream& bytes, Bytes size,
                                const std::optional<fs::path>& folder = {});

}  // namespace mangrove
