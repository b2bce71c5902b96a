#include "mangrove/graph/onnx_inputs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "mangrove/base/suggestion.h"
#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

using ShapeProto = onnx::TensorShapeProto;

std::string dimension(int i) {
  return "dimension " + std::to_string(i);
}

// k of a dimension that is called "kN", as the writer calls k times the batch; else 1.
std::int64_t batches_of(const std::string& name) {
  std::int64_t batches = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(name.data(), end, batches);
  const bool is_multiple =
      code == std::errc() && batches >= 1 && batches <= kMostBatches && std::string(stop, end) == "N";
  return is_multiple ? batches : 1;
}

// Which open dimension is the batch. `batch_name`: how the inputs before called it, "" if none did.
std::optional<int> find_batch(const ShapeProto& proto, const std::string& batch_name) {
  std::optional<int> first;
  for (int i = 0; i < proto.dim_size(); ++i) {
    if (proto.dim(i).has_dim_value()) continue;
    if (!batch_name.empty() && proto.dim(i).dim_param() == batch_name) return i;
    if (!first) first = i;
  }
  return first;
}

Result<Shape> decode_shape(const ShapeProto& proto, std::string& batch_name) {
  const std::optional<int> batch = find_batch(proto, batch_name);
  std::vector<std::int64_t> dims;
  for (int i = 0; i < proto.dim_size(); ++i) {
    const auto& dim = proto.dim(i);
    if (!dim.has_dim_value() && i == batch) {
      const std::int64_t batches = batches_of(dim.dim_param());
      dims.push_back(-batches);
      if (batch_name.empty() && batches == 1) batch_name = dim.dim_param();
    } else if (!dim.has_dim_value()) {
      return make_error(Code::unimplemented,
                        dimension(i) + (dim.dim_param().empty() ? "" : " ('" + dim.dim_param() + "')") +
                            " has no fixed size; only one dimension, the batch, may be open: give the input's shape " +
                            "(--input-shape)");
    } else if (dim.dim_value() < 1) {
      return make_error(Code::unimplemented,
                        dimension(i) + " is " + std::to_string(dim.dim_value()) + ", expected at least 1");
    } else {
      dims.push_back(dim.dim_value());
    }
  }
  return Shape(std::move(dims));
}

// The shape that the caller gave, which must agree with what the file fixes, but for a batch of 1 that is to be opened.
Status check_given(const Shape& given, const ShapeProto& proto) {
  const std::string what = "the given shape " + to_string(given);
  if (static_cast<int>(given.rank()) != proto.dim_size()) {
    return make_error(Code::invalid_argument, what + " has rank " + std::to_string(given.rank()) + ", expected rank " +
                                                  std::to_string(proto.dim_size()));
  }
  for (int i = 0; i < proto.dim_size(); ++i) {
    const std::int64_t size = given[static_cast<std::size_t>(i)];
    if (i == 0 && size == kBatch && proto.dim(i).has_dim_value() && proto.dim(i).dim_value() == 1) continue;
    if (proto.dim(i).has_dim_value() && proto.dim(i).dim_value() != size) {
      return make_error(Code::invalid_argument, what + " has " + std::to_string(size) + " in " + dimension(i) +
                                                    ", the model has " + std::to_string(proto.dim(i).dim_value()));
    }
  }
  return {};
}

Result<ValueInfo> decode_value_info(const onnx::ValueInfoProto& proto, const LoadOptions& options,
                                    std::string& batch_name) {
  if (!proto.type().has_tensor_type() || !proto.type().tensor_type().has_shape()) {
    return make_error(Code::unimplemented, "its type is not a tensor of known rank");
  }
  const ShapeProto& shape = proto.type().tensor_type().shape();
  ValueInfo info;
  MG_TRY(info.dtype, decode_dtype(proto.type().tensor_type().elem_type()));
  if (const auto given = options.input_shapes.find(proto.name()); given != options.input_shapes.end()) {
    MG_RETURN_IF_ERROR(check_given(given->second, shape));
    info.shape = given->second;
    if (shape.dim_size() > 0 && shape.dim(0).has_dim_value()) info.shape[0] = shape.dim(0).dim_value();
    return info;
  }
  MG_TRY(info.shape, decode_shape(shape, batch_name));
  return info;
}

}  // namespace

Result<std::vector<std::pair<std::string, ValueInfo>>> decode_inputs(const onnx::GraphProto& graph,
                                                                     const std::map<std::string, Tensor>& initializers,
                                                                     const LoadOptions& options) {
  std::vector<std::string> names;
  for (const auto& proto : graph.input())
    if (!initializers.contains(proto.name())) names.push_back(proto.name());
  for (const auto& [name, shape] : options.input_shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return make_error(Code::not_found, "a shape is given for input '" + name + "', which the model does not have" +
                                           suggestion(name, names));
  }
  std::vector<std::pair<std::string, ValueInfo>> inputs;
  std::string batch_name;
  for (const auto& proto : graph.input()) {
    if (initializers.contains(proto.name())) continue;
    MG_TRY(ValueInfo info, decode_value_info(proto, options, batch_name).context("input '" + proto.name() + "'"));
    inputs.emplace_back(proto.name(), std::move(info));
  }
  return inputs;
}

}  // namespace mangrove
