#include <climits>
#include <functional>
#include <set>
#include <string>

#include "mangrove/base/check.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx_lowering.h"
#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

// The versions of the format that came with opset 17 and with opset 20.
constexpr std::int64_t kIrVersion = 8, kNewerIrVersion = 9;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 14 does not deduce it

void encode_attribute(const std::string& key, const Attribute& value, onnx::AttributeProto& proto) {
  using Proto = onnx::AttributeProto;
  proto.set_name(key);
  std::visit(Overloaded{
                 [&](std::int64_t integer) {
                   proto.set_type(Proto::INT);
                   proto.set_i(integer);
                 },
                 [&](float real) {
                   proto.set_type(Proto::FLOAT);
                   proto.set_f(real);
                 },
                 [&](const std::string& text) {
                   proto.set_type(Proto::STRING);
                   proto.set_s(text);
                 },
                 [&](const std::vector<std::int64_t>& integers) {
                   proto.set_type(Proto::INTS);
                   proto.mutable_ints()->Add(integers.begin(), integers.end());
                 },
                 [&](const std::vector<float>& reals) {
                   proto.set_type(Proto::FLOATS);
                   proto.mutable_floats()->Add(reals.begin(), reals.end());
                 },
                 [&](const std::vector<std::string>& texts) {
                   proto.set_type(Proto::STRINGS);
                   proto.mutable_strings()->Add(texts.begin(), texts.end());
                 },
                 [&](const Tensor& tensor) {
                   proto.set_type(Proto::TENSOR);
                   encode_tensor(tensor, "", *proto.mutable_t());
                 },
             },
             value);
}

void encode_node(const Node& node, onnx::NodeProto& proto) {
  proto.set_name(node.name);
  proto.set_op_type(node.op);
  for (const std::string& input : node.inputs) proto.add_input(input);
  for (const std::string& output : node.outputs) proto.add_output(output);
  for (const auto& [key, value] : node.attributes) encode_attribute(key, value, *proto.add_attribute());
}

void encode_value_info(const std::string& name, const ValueInfo& info, onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  auto& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(encode_dtype(info.dtype));
  auto& shape = *type.mutable_shape();  // present even for a scalar: absent would mean unknown
  for (const std::int64_t dim : info.shape) {
    if (dim < 0) {
      shape.add_dim()->set_dim_param(dim == kBatch ? "N" : std::to_string(-dim) + "N");
    } else {
      shape.add_dim()->set_dim_value(dim);
    }
  }
}

using EncodeInitializer = std::function<void(const std::string& name, const Tensor& tensor, onnx::TensorProto& proto)>;

onnx::ModelProto encode_model(const Graph& graph, const EncodeInitializer& encode_initializer) {
  onnx::ModelProto model;
  const std::int64_t opset = written_opset(graph);
  model.set_ir_version(opset < 19 ? kIrVersion : kNewerIrVersion);
  model.set_producer_name("mangrove");
  model.add_opset_import()->set_version(opset);
  auto& proto = *model.mutable_graph();
  proto.set_name(graph.name());
  const GraphParts parts = lower_to_onnx(graph);
  for (const Node& node : parts.nodes) encode_node(node, *proto.add_node());
  for (const auto& [name, tensor] : parts.initializers) encode_initializer(name, tensor, *proto.add_initializer());
  for (const auto& [name, info] : graph.inputs()) encode_value_info(name, info, *proto.add_input());
  for (const std::string& name : graph.outputs()) encode_value_info(name, graph.value(name), *proto.add_output());
  for (const auto& [key, value] : graph.metadata()) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model;
}

std::string serialized(const Graph& graph, const onnx::ModelProto& model) {
  MG_CHECK_MSG(model.ByteSizeLong() <= INT_MAX, "graph '" + graph.name() + "' is larger than 2 GiB");
  return model.SerializeAsString();
}

}  // namespace

std::string encode_onnx(const Graph& graph) {
  return serialized(graph, encode_model(graph, [](const std::string& name, const Tensor& tensor, auto& proto) {
                      encode_tensor(tensor, name, proto);
                    }));
}

std::string encode_onnx_outline(const Graph& graph, Bytes least,
                                const std::function<std::string(const Tensor& parameter)>& location) {
  const std::vector<std::string> names = graph.parameters();
  const std::set<std::string> parameters(names.begin(), names.end());
  return serialized(graph, encode_model(graph, [&](const std::string& name, const Tensor& tensor, auto& proto) {
                      if (tensor.bytes() < least || !parameters.contains(name))
                        return encode_tensor(tensor, name, proto);
                      encode_external_tensor(tensor, name, location(tensor), proto);
                    }));
}

Status save_onnx(const Graph& graph, const fs::path& path) {
  Bytes weights = 0;
  for (const auto& [name, tensor] : graph.initializers()) weights += tensor.bytes();
  if (weights > INT_MAX - MiB(16)) {  // leaves room for the nodes
    return make_error(Code::out_of_range, "model " + path.string() + " would have " + format_bytes(weights) +
                                              " of weights, but an ONNX file holds 2 GiB at most");
  }
  return write_private_file(path, encode_onnx(graph));
}

}  // namespace mangrove
