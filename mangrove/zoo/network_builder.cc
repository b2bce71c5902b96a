#include "mangrove/zoo/network_builder.h"

#include <cmath>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::zoo {

NetworkBuilder::NetworkBuilder(std::string name, const ModelOptions& options)
    : random_(options.seed), sample_(options.sample_shape) {
  MG_CHECK(sample_.rank() == 3);
  parts_.name = std::move(name);
  parts_.inputs.emplace_back("input", ValueInfo{DType::f32, Shape{kBatch, sample_[0], sample_[1], sample_[2]}});
}

Node& NetworkBuilder::append(const std::string& name, std::string op) {
  Node node;
  node.name = name;
  node.op = std::move(op);
  node.inputs = {last_};
  last_ = name + ".out";
  node.outputs = {last_};
  parts_.nodes.push_back(std::move(node));
  return parts_.nodes.back();
}

void NetworkBuilder::add_parameters(Node& node, Shape weight_shape, std::int64_t fan_in, std::int64_t fan_out) {
  const double limit = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  Tensor bias(DType::f32, Shape{weight_shape[0]});
  Tensor weight(DType::f32, std::move(weight_shape));
  for (float& element : weight.as<float>()) element = static_cast<float>(random_.uniform(-limit, limit));
  node.inputs.insert(node.inputs.end(), {node.name + ".weight", node.name + ".bias"});
  parts_.initializers.emplace(node.name + ".weight", std::move(weight));
  parts_.initializers.emplace(node.name + ".bias", std::move(bias));
}

void NetworkBuilder::conv(const std::string& name, std::int64_t output_channels, std::int64_t kernel) {
  Node& node = append(name, "Conv");
  node.attributes["kernel_shape"] = std::vector<std::int64_t>{kernel, kernel};
  const std::int64_t taps = kernel * kernel;
  add_parameters(node, Shape{output_channels, sample_[0], kernel, kernel}, sample_[0] * taps, output_channels * taps);
  sample_ = Shape{output_channels, sample_[1] - kernel + 1, sample_[2] - kernel + 1};
}

void NetworkBuilder::max_pool(const std::string& name, std::int64_t kernel, std::int64_t stride) {
  Node& node = append(name, "MaxPool");
  node.attributes["kernel_shape"] = std::vector<std::int64_t>{kernel, kernel};
  node.attributes["strides"] = std::vector<std::int64_t>{stride, stride};
  sample_ = Shape{sample_[0], (sample_[1] - kernel) / stride + 1, (sample_[2] - kernel) / stride + 1};
}

void NetworkBuilder::activation(const std::string& name, const std::string& op) {
  append(name, op);
}

void NetworkBuilder::flatten(const std::string& name) {
  append(name, "Flatten");
  sample_ = Shape{sample_.elements()};
}

void NetworkBuilder::fully_connected(const std::string& name, std::int64_t outputs) {
  Node& node = append(name, "Gemm");
  node.attributes["transB"] = std::int64_t{1};
  add_parameters(node, Shape{outputs, sample_[0]}, sample_[0], outputs);
  sample_ = Shape{outputs};
}

Result<Graph> NetworkBuilder::finish() && {
  parts_.nodes.back().outputs = {"logits"};
  parts_.outputs = {"logits"};
  return Graph::create(std::move(parts_));
}

}  // namespace mangrove::zoo
