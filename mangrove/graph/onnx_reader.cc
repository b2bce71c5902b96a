#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "mangrove/graph/constant_values.h"
#include "mangrove/graph/fold_shapes.h"
#include "mangrove/graph/group_norm_pattern.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx_file.h"
#include "mangrove/graph/onnx_inputs.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/onnx_upgrade.h"
#include "mangrove/graph/open_batch.h"

namespace mangrove {
namespace {

constexpr std::int64_t kOldestOpset = 7;
constexpr std::int64_t kNewestOpset = 21;
constexpr std::int64_t kOldestIr = 3;   // what opset 7 came with
constexpr int kMostParts = 100'000;     // nodes, inputs or outputs: the largest networks have some thousands
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
    case Proto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
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

// What no graph with static shapes can say.
Status check_operator(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (!is_onnx_domain(node.domain())) {
    return make_error(Code::unimplemented, "operator '" + op + "' of domain '" + node.domain() +
                                               "' is not supported; only those of ai.onnx are");
  }
  const bool control_flow = op == "If" || op == "Loop" || op == "Scan" || op == "SequenceMap";
  const bool sequence = op.find("Sequence") != std::string::npos && op != "ReverseSequence";
  if (!control_flow && !sequence && op.rfind("Optional", 0) != 0) return {};
  return make_error(Code::unimplemented, "operator '" + op + "' is not supported: graphs have no " +
                                             (control_flow ? "control flow" : "sequences or optional values"));
}

std::vector<std::string> without_trailing_blanks(std::vector<std::string> names) {
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

// What a file holds, its Constant nodes already initializers.
struct Decoded {
  GraphParts parts;
  std::set<std::string> constants;  // names of the initializers that were Constant nodes
};

Status decode_node(const onnx::NodeProto& proto, NodeNames& names, Decoded& file) {
  GraphParts& parts = file.parts;
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
  MG_RETURN_IF_ERROR(check_node(node));
  MG_TRY(Tensor constant, constant_value(node).context(describe(node)));
  if (node.outputs.size() != 1 || parts.initializers.contains(node.outputs[0])) {
    return make_error(Code::invalid_argument, where + " (Constant): expected one output, not defined elsewhere");
  }
  const bool is_output = std::find(parts.outputs.begin(), parts.outputs.end(), node.outputs[0]) != parts.outputs.end();
  if (is_output) {  // which an initializer cannot be
    parts.nodes.push_back(std::move(node));
    return {};
  }
  parts.initializers.emplace(node.outputs[0], std::move(constant));
  file.constants.insert(node.outputs[0]);
  return {};
}

Result<Decoded> decode_graph(OnnxFile read, const LoadOptions& options) {
  const onnx::GraphProto& graph = read.model.graph();
  for (const auto& [what, count] : {std::pair("nodes", graph.node_size()), std::pair("inputs", graph.input_size()),
                                    std::pair("outputs", graph.output_size())})
    if (count > kMostParts)
      return make_error(Code::resource_exhausted, "the graph has " + std::to_string(count) + " " + what +
                                                      ", the most is " + std::to_string(kMostParts));
  Decoded file;
  GraphParts& parts = file.parts;
  parts.name = graph.name();
  parts.initializers = std::move(read.initializers);
  MG_TRY(parts.inputs, decode_inputs(graph, parts.initializers, options));
  for (const auto& proto : graph.output()) parts.outputs.push_back(proto.name());
  NodeNames names(graph);
  for (const auto& proto : graph.node()) MG_RETURN_IF_ERROR(decode_node(proto, names, file));
  return file;
}

// The batch of 1 opened where the caller wants it: it must be where he names an input, else it is where it can be.
Result<Graph> with_wanted_batch(Graph graph, const LoadOptions& options) {
  bool is_named = false, is_asked_for = false;
  for (const auto& [name, info] : graph.inputs()) {
    const auto given = options.input_shapes.find(name);
    is_named = is_named || given != options.input_shapes.end();
    is_asked_for = is_asked_for || (given != options.input_shapes.end() && given->second != info.shape);
  }
  if (!is_asked_for && (is_named || !options.open_batch_of_one || !has_batch_of_one(graph))) return graph;
  Result<Graph> open = open_batch(graph);
  if (!open.ok() && is_asked_for) return std::move(open).context("the batch of 1 cannot be opened");
  return open.ok() ? std::move(open) : Result<Graph>(std::move(graph));
}

Result<Graph> graph_of(OnnxFile read, const LoadOptions& options) {
  MG_TRY(const std::int64_t opset, checked_opset(read.model));
  std::map<std::string, std::string> metadata;
  for (const auto& entry : read.model.metadata_props()) metadata[entry.key()] = entry.value();
  MG_TRY(Decoded file, decode_graph(std::move(read), options));
  file.parts.metadata = std::move(metadata);
  MG_RETURN_IF_ERROR(upgrade_opset(file.parts, opset));
  const auto upgrade = [opset](Node node, std::map<std::string, Tensor>& initializers, Values& values) {
    return upgrade_with_shapes(std::move(node), opset, initializers, values);
  };
  MG_TRY(GraphParts parts, fold_shapes(std::move(file.parts), {std::move(file.constants), upgrade}));
  MG_TRY(Graph graph, Graph::create(std::move(parts)));
  MG_TRY(Graph recognised, recognise_group_norms(std::move(graph)));
  return with_wanted_batch(std::move(recognised), options);
}

// The parameters that are elsewhere are zeros, one for all of its size.
Result<OnnxOutline> outline_of(OnnxFile read) {
  constexpr Bytes kMostParameters = INT_MAX;  // a network of more cannot be written as ONNX
  std::map<std::string, std::string> locations;
  std::map<std::pair<DType, std::int64_t>, Tensor> zeros;
  Bytes bytes = 0;
  for (const onnx::TensorProto& proto : read.model.graph().initializer()) {
    const std::string where = "initializer '" + proto.name() + "'";
    Tensor tensor;
    if (is_external(proto)) {
      MG_TRY(ExternalTensor external, decode_external_tensor(proto).context(where));
      bytes += external.shape.elements() * static_cast<Bytes>(size_of(external.dtype));
      if (bytes > kMostParameters)
        return make_error(Code::resource_exhausted,
                          "the network has more than " + format_bytes(kMostParameters) + " of parameters");
      locations[proto.name()] = std::move(external.location);
      const auto [same, is_new] = zeros.try_emplace({external.dtype, external.shape.elements()});
      if (is_new) same->second = Tensor(external.dtype, external.shape);
      tensor = same->second.reshaped(std::move(external.shape));
    } else {
      MG_TRY(tensor, decode_tensor(proto).context(where));
    }
    if (!read.initializers.emplace(proto.name(), std::move(tensor)).second)
      return make_error(Code::invalid_argument, where + " is defined twice");
  }
  read.model.mutable_graph()->clear_initializer();
  MG_TRY(Graph graph, graph_of(std::move(read), {}));
  for (const auto& [name, location] : locations)
    if (!graph.initializers().contains(name))
      return make_error(Code::data_loss, "initializer '" + name + "' is elsewhere, and no node reads it");
  return OnnxOutline{std::move(graph), std::move(locations)};
}

// At most what read_onnx_file() takes.
std::string rest_of(google::protobuf::io::ZeroCopyInputStream& stream) {
  std::string bytes;
  const void* block = nullptr;
  for (int size = 0; stream.Next(&block, &size) && bytes.size() <= static_cast<std::size_t>(INT_MAX - size);)
    bytes.append(static_cast<const char*>(block), static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace

Result<Graph> parse_onnx(std::string_view bytes, const LoadOptions& options) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(),
                                                static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
  MG_TRY(OnnxFile read, read_onnx_file(stream, static_cast<Bytes>(bytes.size())));
  return graph_of(std::move(read), options);
}

Result<OnnxOutline> parse_onnx_outline(std::string_view bytes) {
  OnnxFile read;
  if (bytes.empty() || bytes.size() > INT_MAX ||
      !read.model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return make_error(Code::data_loss, "not the outline of an ONNX model, or truncated");
  return outline_of(std::move(read));
}

Result<Graph> load_onnx(const fs::path& path, const LoadOptions& options) {
  MG_TRY(const InputFile file, InputFile::open(path));
  constexpr int kBlock = 1 << 18;
  google::protobuf::io::FileInputStream stream(file.descriptor(), kBlock);
  const auto read = [&]() -> Result<OnnxFile> {
    if (file.size() > 0) return read_onnx_file(stream, file.size(), path.parent_path());
    const std::string bytes = rest_of(stream);  // perhaps a pipe
    google::protobuf::io::ArrayInputStream whole(bytes.data(), static_cast<int>(bytes.size()));
    return read_onnx_file(whole, static_cast<Bytes>(bytes.size()));
  };
  Result<OnnxFile> content = read();
  if (stream.GetErrno() != 0)
    return make_error(Code::data_loss, path.string() + ": cannot read: " + std::strerror(stream.GetErrno()));
  const std::string where = "model " + path.string();
  MG_TRY(OnnxFile known, std::move(content).context(where));
  return graph_of(std::move(known), options).context(where);
}

}  // namespace mangrove
