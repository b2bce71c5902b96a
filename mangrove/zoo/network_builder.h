#pragma once

#include <cstdint>
#include <string>

#include "mangrove/base/random.h"
#include "mangrove/graph/graph.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::zoo {

/// Writes a chain of layers as a graph: each call appends one node that reads the value before it. A layer's node is
/// called `name`, its value `name.out`, its parameters `name.weight` and `name.bias`.
///
/// Weights are drawn uniformly from +-sqrt(6 / (fan in + fan out)), biases are zero.
/// source: Glorot & Bengio, Understanding the difficulty of training deep feedforward neural networks, AISTATS 2010.
class NetworkBuilder {
 public:
  /// Starts with the input "input" [N, C, H, W], f32.
  NetworkBuilder(std::string name, const ModelOptions& options);

  /// Square kernel, stride 1, no padding, bias.
  void conv(const std::string& name, std::int64_t output_channels, std::int64_t kernel);
  void max_pool(const std::string& name, std::int64_t kernel, std::int64_t stride);
  /// "Relu", "Tanh" or "Sigmoid".
  void activation(const std::string& name, const std::string& op);
  /// [N, C, H, W] to [N, C H W].
  void flatten(const std::string& name);
  /// [N, features] to [N, outputs], bias. Weights are [outputs, features], as PyTorch keeps them.
  void fully_connected(const std::string& name, std::int64_t outputs);

  /// Renames the last value to "logits", makes it the graph's output and checks the whole.
  Result<Graph> finish() &&;

 private:
  Node& append(const std::string& name, std::string op);
  void add_parameters(Node& node, Shape weight_shape, std::int64_t fan_in, std::int64_t fan_out);

  GraphParts parts_;
  Random random_;
  std::string last_ = "input";  // value that the next layer reads
  Shape sample_;                // its shape without the batch
};

}  // namespace mangrove::zoo
