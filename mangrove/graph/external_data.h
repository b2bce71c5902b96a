#pragma once

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/onnx.pb.h"

namespace mangrove {

/// The tensors of a model whose elements are in files of their own, ONNX's external data:
/// https://github.com/onnx/onnx/blob/main/docs/ExternalData.md. A file must be a regular one in the model's folder or
/// below it, whatever links its path has.
/// threads: one at a time.
class ExternalData {
 public:
  /// `folder`: the model's; "" is the working folder.
  explicit ExternalData(fs::path folder);

  /// Puts the elements of a tensor that has external data into its raw_data. Before memory is taken, the shape, the
  /// given length and the size of the file must agree. errors: data_loss (they do not, or the tensor says no location);
  /// invalid_argument (a location that leads out of the folder, no regular file); not_found; permission_denied;
  /// resource_exhausted (more than 2 GiB in all, which no ONNX file can be written of); unimplemented (a type that
  /// Tensor lacks).
  Status fetch(onnx::TensorProto& tensor);

 private:
  Result<fs::path> path_of(const std::string& location) const;

  fs::path folder_;
  Bytes fetched_ = 0;
};

}  // namespace mangrove
