#include "mangrove/zoo/network_builder.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove::zoo {
namespace {

using Ints = std::vector<std::int64_t>;

// What an ONNX file can hold.
constexpr Bytes kMostParameterBytes = GiB(2);

Tensor ints(const Ints& elements) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(elements.size())}, elements);
}

Tensor filled(std::int64_t n, float value) {
  Tensor tensor(DType::f32, Shape{n});
  std::ranges::fill(tensor.as<float>(), value);
  return tensor;
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string name, const ModelOptions& options, Initializer weights)
    : random_(options.seed), weights_(weights) {
  parts_.name = std::move(name);
  Ints dims = options.sample_shape.dims();
  dims.insert(dims.begin(), kBatch);
  values_["input"] = {DType::f32, Shape(std::move(dims))};
  parts_.inputs.emplace_back("input", values_["input"]);
}

Value NetworkBuilder::input() const {
  return {"input", parts_.inputs[0].second.shape};
}

// False, and the network fails, where weights of this shape would make it too large; said before they are allocated.
bool NetworkBuilder::reserve(const Shape& weights) {
  parameter_bytes_ += weights.elements() * static_cast<Bytes>(sizeof(float));
  if (parameter_bytes_ <= kMostParameterBytes) return status_.ok();
  status_ = make_error(Code::invalid_argument, "the network has more than " + format_bytes(kMostParameterBytes) +
                                                   " of parameters, which no ONNX file can hold");
  return false;
}

Value NetworkBuilder::apply(const std::string& name, const std::string& op, const std::vector<Value>& values,
                            std::vector<Constant> constants, std::map<std::string, Attribute> attributes,
                            std::size_t output) {
  if (!status_.ok()) return values[0];
  Node node{.name = name, .op = op, .attributes = std::move(attributes), .inputs = {}, .outputs = {}};
  node.outputs.resize(output);
  node.outputs.push_back(name + ".out");
  for (const Value& value : values) node.inputs.push_back(value.name);
  for (auto& [suffix, tensor] : constants) {
    node.inputs.push_back(name + "." + suffix);
    values_[node.inputs.back()] = {tensor.dtype(), tensor.shape()};
    parts_.initializers.emplace(node.inputs.back(), std::move(tensor));
  }
  if (Status inferred = infer_node(node, parts_.initializers, values_); !inferred.ok()) {
    status_ = std::move(inferred);
    return values[0];
  }
  parts_.nodes.push_back(std::move(node));
  return {name + ".out", values_.at(name + ".out").shape};
}

Value NetworkBuilder::conv(const std::string& name, const Value& x, std::int64_t channels, const ConvOptions& options) {
  return conv(name, x, channels, options, weights_);
}

Value NetworkBuilder::conv(const std::string& name, const Value& x, std::int64_t channels, const ConvOptions& options,
                           const Initializer& initializer) {
  if (!status_.ok()) return x;
  const std::int64_t k = options.kernel;
  const std::int64_t pad = options.pad < 0 ? (k - 1) / 2 : options.pad;
  MG_CHECK_MSG(x.channels() % options.groups == 0 && channels % options.groups == 0, name);
  const Shape shape{channels, x.channels() / options.groups, k, k};
  if (!reserve(shape)) return x;
  Tensor weights(DType::f32, shape);
  const Fans fans{.in = shape[1] * k * k, .out = channels / options.groups * k * k};
  initialize(initializer, fans, random_, weights.as<float>());
  std::vector<Constant> constants{{"weight", std::move(weights)}};
  if (options.bias) constants.push_back({"bias", Tensor(DType::f32, Shape{channels})});
  std::map<std::string, Attribute> attributes{{"kernel_shape", Ints{k, k}}};
  if (options.stride != 1) attributes["strides"] = Ints{options.stride, options.stride};
  if (pad != 0) attributes["pads"] = Ints{pad, pad, pad, pad};
  if (options.groups != 1) attributes["group"] = options.groups;
  return apply(name, "Conv", {x}, std::move(constants), std::move(attributes));
}

Value NetworkBuilder::batch_norm(const std::string& name, const Value& x, float shift) {
  const std::int64_t n = x.channels();
  return apply(
      name, "BatchNormalization", {x},
      {{"scale", filled(n, 1)}, {"shift", filled(n, shift)}, {"mean", filled(n, 0)}, {"variance", filled(n, 1)}},
      {{"epsilon", 1e-5f}, {"momentum", 0.9f}});
}

Value NetworkBuilder::activation(const std::string& name, const Value& x, const std::string& op) {
  return apply(name, op, {x});
}

Value NetworkBuilder::relu6(const std::string& name, const Value& x) {
  return apply(name, "Clip", {x}, {{"min", Tensor::of<float>(Shape{}, {0})}, {"max", Tensor::of<float>(Shape{}, {6})}});
}

Value NetworkBuilder::pool(const std::string& op, const std::string& name, const Value& x, const PoolOptions& options) {
  const auto [k, s, p] = options;
  if (x.shape.rank() == 4 && std::min(x.shape[2], x.shape[3]) + 2 * p < k) return x;
  std::map<std::string, Attribute> attributes{{"kernel_shape", Ints{k, k}}, {"strides", Ints{s, s}}};
  if (p != 0) attributes["pads"] = Ints{p, p, p, p};
  return apply(name, op, {x}, {}, std::move(attributes));
}

Value NetworkBuilder::max_pool(const std::string& name, const Value& x, const PoolOptions& options) {
  return pool("MaxPool", name, x, options);
}

Value NetworkBuilder::average_pool(const std::string& name, const Value& x, const PoolOptions& options) {
  return pool("AveragePool", name, x, options);
}

Value NetworkBuilder::global_average_pool(const std::string& name, const Value& x) {
  return flatten(name + ".flatten", apply(name, "GlobalAveragePool", {x}));
}

Value NetworkBuilder::add(const std::string& name, const Value& a, const Value& b) {
  return apply(name, "Add", {a, b});
}

Value NetworkBuilder::concat(const std::string& name, const std::vector<Value>& values) {
  return apply(name, "Concat", values, {}, {{"axis", std::int64_t{1}}});
}

Value NetworkBuilder::slice(const std::string& name, const Value& x, std::int64_t first, std::int64_t last,
                            std::int64_t stride) {
  if (!status_.ok()) return x;
  if (stride == 1) {
    return apply(name, "Slice", {x}, {{"starts", ints({first})}, {"ends", ints({last})}, {"axes", ints({1})}});
  }
  return apply(name, "Slice", {x},
               {{"starts", ints({first, 0, 0})},
                {"ends", ints({last, x.shape[2], x.shape[3]})},
                {"axes", ints({1, 2, 3})},
                {"steps", ints({1, stride, stride})}});
}

Value NetworkBuilder::flatten(const std::string& name, const Value& x) {
  return apply(name, "Flatten", {x});
}

Value NetworkBuilder::dropout(const std::string& name, const Value& x, float ratio) {
  return apply(name, "Dropout", {x}, {{"ratio", Tensor::of<float>(Shape{}, {ratio})}});
}

Value NetworkBuilder::dense(const std::string& name, const Value& x, std::int64_t outputs) {
  return dense(name, x, outputs, weights_);
}

Value NetworkBuilder::dense(const std::string& name, const Value& x, std::int64_t outputs,
                            const Initializer& initializer) {
  if (!status_.ok()) return x;
  const Shape shape{outputs, x.channels()};
  if (!reserve(shape)) return x;
  Tensor weights(DType::f32, shape);
  initialize(initializer, {.in = shape[1], .out = outputs}, random_, weights.as<float>());
  return apply(name, "Gemm", {x}, {{"weight", std::move(weights)}, {"bias", Tensor(DType::f32, Shape{outputs})}},
               {{"transB", std::int64_t{1}}});
}

Value NetworkBuilder::parameter(const std::string& name, const Shape& shape, const Initializer& weights, Fans fans) {
  if (!reserve(shape)) return {name, shape};
  Tensor tensor(DType::f32, shape);
  initialize(weights, fans, random_, tensor.as<float>());
  values_[name] = {tensor.dtype(), shape};
  parts_.initializers.emplace(name, std::move(tensor));
  return {name, shape};
}

void NetworkBuilder::fill_bias(const std::string& layer, float value) {
  if (const auto found = parts_.initializers.find(layer + ".bias"); found != parts_.initializers.end()) {
    std::ranges::fill(found->second.as<float>(), value);
  }
}

void NetworkBuilder::make_output(const Value& value, const std::string& name) {
  for (Node& node : parts_.nodes) {
    std::ranges::replace(node.inputs, value.name, name);
    std::ranges::replace(node.outputs, value.name, name);
  }
  parts_.outputs.push_back(name);
}

Result<Graph> NetworkBuilder::finish(const Value& logits, const std::vector<Value>& early_exits) && {
  MG_RETURN_IF_ERROR(std::move(status_));
  for (std::size_t i = 0; i < early_exits.size(); ++i) make_output(early_exits[i], "exit" + std::to_string(i + 1));
  make_output(logits, "logits");
  return Graph::create(std::move(parts_));
}

}  // namespace mangrove::zoo
