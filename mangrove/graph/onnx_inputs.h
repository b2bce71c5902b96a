#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx.pb.h"

namespace mangrove {

/// Types and shapes of a file's inputs, without those that are initializers (before IR 4, these had to be listed too).
/// The batch is the dimension that has no fixed size; where an input has several, the one that is called as the batch
/// of the inputs before it, or else dimension 0. The sizes of others must be in the options.
/// errors: unimplemented: an open dimension that is not the batch, no tensor of known rank, a type; not_found and
/// invalid_argument: the options name no input, or do not fit it.
Result<std::vector<std::pair<std::string, ValueInfo>>> decode_inputs(const onnx::GraphProto& graph,
                                                                     const std::map<std::string, Tensor>& initializers,
                                                                     const LoadOptions& options);

}  // namespace mangrove
