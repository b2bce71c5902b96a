#include <algorithm>
#include <climits>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/nearest.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/onnx_upgrade.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

constexpr std::int64_t kOldestOpset = 7;
constexpr std::int64_t kNewestOpset = 17;
constexpr std::int64_t kOldestIr = 3;   // what opset 7 came with
constexpr std::int64_t kNewestIr = 10;  // 9 and 10 only add element types and annotations

bool is_onnx_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

Result<std::int64_t> checked_opset(const onnx::ModelProto& model) {
  if (!model.has_ir_version() || !model.has_graph()) {
    return make_error(Code::data_loss, "not an ONNX model, or truncated: it has no IR version or no graph");
  }
  if (model.ir_version() < kOldestIr || model.ir_version() > kNewestIr) {
    return make_error(Code::unimplemented, "IR version " + std::to_string(model.ir_version()) + ", supported are " +
                                               std::to_string(kOldestIr) + " to " + std::to_string(kNewestIr));
  }
  for (const auto& import : model.opset_import()) {
    if (!is_onnx_domain(import.domain())) continue;
    if (import.version() < kOldestOpset || import.version() > kNewestOpset) {
      return make_error(Code::unimplemented, "opset " + std::to_string(import.version()) + ", supported are " +
                                                 std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset));
    }
    return import.version();
  }
  return make_error(Code::data_loss, "the model names no opset of domain ai.onnx, or is truncated");
}

Result<Attribute> decode_attribute(const onnx::AttributeProto& proto) {
  using Proto = onnx::AttributeProto;
  if (!proto.ref_attr_name().empty()) {
    return make_error(Code::unimplemented, "refers to an attribute of a function, which is not supported");
  }
  switch (proto.type()) {
    case Proto::INT:
      return Attribute(proto.i());
    case Proto::FLOAT:
      return Attribute(proto.f());
    case Proto::STRING:
      return Attribute(proto.s());
    case Proto::INTS:
      return Attribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case Proto::FLOATS:
      return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case Proto::TENSOR: {
      MG_TRY(Tensor tensor, decode_tensor(proto.t()));
      return Attribute(std::move(tensor));
    }
    case Proto::UNDEFINED:
      return make_error(Code::data_loss, "has no type");
    default:
      return make_error(Code::unimplemented,
                        "has type " + Proto::AttributeType_Name(proto.type()) + ", which is not supported");
  }
}

// The values of a Constant node, whose only attribute says how they are written.
Result<Tensor> constant_of(const std::map<std::string, Attribute>& attributes) {
  if (attributes.size() == 1) {
    const auto& [key, value] = *attributes.begin();
    if (const auto* tensor = std::get_if<Tensor>(&value); tensor && key == "value") return *tensor;
    if (const auto* real = std::get_if<float>(&value); real && key == "value_float") {
      return Tensor::of<float>(Shape{}, {*real});
    }
    if (const auto* integer = std::get_if<std::int64_t>(&value); integer && key == "value_int") {
      return Tensor::of<std::int64_t>(Shape{}, {*integer});
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&value); reals && key == "value_floats") {
      return Tensor::of<float>(Shape{static_cast<std::int64_t>(reals->size())}, *reals);
    }
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value); integers && key == "value_ints") {
      return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(integers->size())}, *integers);
    }
  }
  return make_error(Code::unimplemented, "expected one attribute of value, value_float(s) and value_int(s)");
}

// The batch is the one dimension that has a name or nothing instead of a size.
Result<Shape> decode_shape(const onnx::TensorShapeProto& proto) {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < proto.dim_size(); ++i) {
    const auto& dim = proto.dim(i);
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 1) {
        return make_error(Code::unimplemented, "dimension " + std::to_string(i) + " is " +
                                                   std::to_string(dim.dim_value()) + ", expected at least 1");
      }
      dims.push_back(dim.dim_value());
    } else if (std::find(dims.begin(), dims.end(), kBatch) == dims.end()) {
      dims.push_back(kBatch);
    } else {
      return make_error(Code::unimplemented, "dimension " + std::to_string(i) + " ('" + dim.dim_param() +
                                                 "') has no fixed size; only one dimension, the batch, may be open");
    }
  }
  return Shape(std::move(dims));
}

Result<ValueInfo> decode_value_info(const onnx::ValueInfoProto& proto) {
  if (!proto.type().has_tensor_type() || !proto.type().tensor_type().has_shape()) {
    return make_error(Code::unimplemented, "its type is not a tensor of known rank");
  }
  ValueInfo info;
  MG_TRY(info.dtype, decode_dtype(proto.type().tensor_type().elem_type()));
  MG_TRY(info.shape, decode_shape(proto.type().tensor_type().shape()));
  return info;
}

// The names of nodes are optional in ONNX and not always unique.
class NodeNames {
 public:
  explicit NodeNames(const onnx::GraphProto& graph) {
    for (const auto& node : graph.node()) given_.insert(node.name());
  }

  std::string name_for(const onnx::NodeProto& node) {
    if (!node.name().empty() && taken_.insert(node.name()).second) return node.name();
    const std::string stem = (node.name().empty() ? node.op_type() : node.name()) + "_";
    std::string name;
    do name = stem + std::to_string(++counter_);
    while (given_.contains(name) || !taken_.insert(name).second);
    return name;
  }

 private:
  std::set<std::string> given_;
  std::set<std::string> taken_;
  std::size_t counter_ = 0;
};

Status check_operator(const onnx::NodeProto& node) {
  if (!is_onnx_domain(node.domain())) {
    return make_error(Code::unimplemented, "operator '" + node.op_type() + "' of domain '" + node.domain() +
                                               "' is not supported; only those of ai.onnx are");
  }
  if (node.op_type() == "Constant" || find_operator(node.op_type()) != nullptr) return {};
  std::vector<std::string> known;
  for (const Operator& row : operators()) known.emplace_back(row.type);
  return make_error(Code::unimplemented,
                    "operator '" + node.op_type() + "' is not supported" + suggestion(node.op_type(), known));
}

std::vector<std::string> without_trailing_blanks(std::vector<std::string> names) {
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

Status decode_node(const onnx::NodeProto& proto, NodeNames& names, GraphParts& parts) {
  Node node;
  node.name = names.name_for(proto);
  const std::string where = "node '" + node.name + "'";
  MG_RETURN_IF_ERROR(check_operator(proto).context(where));
  node.op = proto.op_type();
  for (const auto& attribute : proto.attribute()) {
    const std::string which = where + ": attribute '" + attribute.name() + "'";
    MG_TRY(Attribute value, decode_attribute(attribute).context(which));
    if (!node.attributes.emplace(attribute.name(), std::move(value)).second) {
      return make_error(Code::invalid_argument, which + " is given twice");
    }
  }
  node.inputs = without_trailing_blanks({proto.input().begin(), proto.input().end()});
  node.outputs = without_trailing_blanks({proto.output().begin(), proto.output().end()});
  if (node.op != "Constant") {
    parts.nodes.push_back(std::move(node));
    return {};
  }
  MG_TRY(Tensor constant, constant_of(node.attributes).context(where + " (Constant)"));
  if (node.outputs.size() != 1 || !parts.initializers.emplace(node.outputs[0], std::move(constant)).second) {
    return make_error(Code::invalid_argument, where + " (Constant): expected one output, not defined elsewhere");
  }
  return {};
}

Result<GraphParts> decode_graph(const onnx::GraphProto& graph) {
  GraphParts parts;
  parts.name = graph.name();
  for (const auto& proto : graph.initializer()) {
    const std::string where = "initializer '" + proto.name() + "'";
    MG_TRY(Tensor tensor, decode_tensor(proto).context(where));
    if (!parts.initializers.emplace(proto.name(), std::move(tensor)).second) {
      return make_error(Code::invalid_argument, where + " is defined twice");
    }
  }
  for (const auto& proto : graph.input()) {
    if (parts.initializers.contains(proto.name())) continue;  // before IR 4, initializers had to be listed as inputs
    MG_TRY(ValueInfo info, decode_value_info(proto).context("input '" + proto.name() + "'"));
    parts.inputs.emplace_back(proto.name(), std::move(info));
  }
  for (const auto& proto : graph.output()) parts.outputs.push_back(proto.name());
  NodeNames names(graph);
  for (const auto& proto : graph.node()) MG_RETURN_IF_ERROR(decode_node(proto, names, parts));
  return parts;
}

}  // namespace

Result<Graph> parse_onnx(std::string_view bytes) {
  onnx::ModelProto model;
  if (bytes.empty() || bytes.size() > INT_MAX || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return make_error(Code::data_loss,
                      "not an ONNX model, or truncated (" + std::to_string(bytes.size()) + " bytes; 2 GiB at most)");
  }
  MG_TRY(const std::int64_t opset, checked_opset(model));
  MG_TRY(GraphParts parts, decode_graph(model.graph()));
  for (const auto& entry : model.metadata_props()) parts.metadata[entry.key()] = entry.value();
  MG_RETURN_IF_ERROR(upgrade_opset(parts, opset));
  return Graph::create(std::move(parts));
}

Result<Graph> load_onnx(const fs::path& path) {
  MG_TRY(const std::string bytes, read_file(path));
  return parse_onnx(bytes).context("model " + path.string());
}

}  // namespace mangrove
