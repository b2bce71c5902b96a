#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/graph/graph.h"
#include "mangrove/zoo/initializer.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::zoo {

/// A value of the network that is being written: what layers take and give.
struct Value {
  std::string name;
  Shape shape;  // [N, C, H, W] of an image, [N, features] after flatten or dense; N is kBatch

  std::int64_t channels() const { return shape[1]; }
};

struct ConvOptions {
  std::int64_t kernel = 3;  // square
  std::int64_t stride = 1;
  std::int64_t pad = -1;  // on every side; -1: (kernel - 1) / 2, which keeps the size at stride 1
  std::int64_t groups = 1;
  bool bias = false;
};

struct PoolOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t pad = 0;
};

/// Writes a network as a graph. Each layer takes values and gives one; it is called `name`, what it gives `name.out`,
/// its parameters `name.weight` and `name.bias`. Shapes come from the operator table; the first layer that does not fit
/// is what finish() says, and the layers after it do nothing.
///
/// A pooling whose window is larger than its input is left out, so that networks made for large images take small ones.
class NetworkBuilder {
 public:
  /// Starts with the input "input" [N, sample shape...], f32. `weights` is how convolutions and dense layers start
  /// where they are not told otherwise; biases start at zero.
  NetworkBuilder(std::string name, const ModelOptions& options, Initializer weights = glorot_uniform());

  Value input() const;

  Value conv(const std::string& name, const Value& x, std::int64_t channels, const ConvOptions& options = {});
  Value conv(const std::string& name, const Value& x, std::int64_t channels, const ConvOptions& options,
             const Initializer& weights);
  /// Momentum 0.9, epsilon 1e-5; scale starts at 1, shift at `shift`.
  Value batch_norm(const std::string& name, const Value& x, float shift = 0);
  /// An operator of one input without attributes: "Relu", "Tanh", "Sigmoid".
  Value activation(const std::string& name, const Value& x, const std::string& op);
  /// min(max(x, 0), 6)
  Value relu6(const std::string& name, const Value& x);

  Value max_pool(const std::string& name, const Value& x, const PoolOptions& options = {});
  /// Padding does not count.
  Value average_pool(const std::string& name, const Value& x, const PoolOptions& options = {});
  /// [N, C, H, W] to [N, C].
  Value global_average_pool(const std::string& name, const Value& x);

  Value add(const std::string& name, const Value& a, const Value& b);
  /// Along the channels.
  Value concat(const std::string& name, const std::vector<Value>& values);
  /// The channels [first, last), and of rows and columns every `stride`-th.
  Value slice(const std::string& name, const Value& x, std::int64_t first, std::int64_t last, std::int64_t stride = 1);

  /// [N, ...] to [N, elements].
  Value flatten(const std::string& name, const Value& x);
  /// Zeroes each element with probability `ratio` in training and scales the others; nothing in inference.
  Value dropout(const std::string& name, const Value& x, float ratio);
  /// [N, features] to [N, outputs], with bias. Weights are [outputs, features], as PyTorch keeps them.
  Value dense(const std::string& name, const Value& x, std::int64_t outputs);
  Value dense(const std::string& name, const Value& x, std::int64_t outputs, const Initializer& weights);

  /// Any operator: its first inputs are values, the others initializers called `name.suffix` for each of `constants`,
  /// in their order. Gives its output number `output`; the others are left out.
  struct Constant {
    std::string suffix;
    Tensor tensor;
  };
  Value apply(const std::string& name, const std::string& op, const std::vector<Value>& values,
              std::vector<Constant> constants = {}, std::map<std::string, Attribute> attributes = {},
              std::size_t output = 0);

  /// A parameter that is a value by itself, like the token of a class, drawn by this initializer.
  Value parameter(const std::string& name, const Shape& shape, const Initializer& weights, Fans fans = {});

  /// Sets every element of a layer's bias.
  void fill_bias(const std::string& layer, float value);
  Random& random() { return random_; }

  /// Renames the value to "logits", makes it the graph's output and checks the whole. early_exits: logits too, from the
  /// first exit on; they become the outputs "exit1", "exit2" ... before it (see graph/exits.h).
  Result<Graph> finish(const Value& logits, const std::vector<Value>& early_exits = {}) &&;

 private:
  bool reserve(const Shape& weights);
  void make_output(const Value& value, const std::string& name);
  Value pool(const std::string& op, const std::string& name, const Value& x, const PoolOptions& options);

  GraphParts parts_;
  Random random_;
  Initializer weights_;
  Status status_;  // of the first layer that did not fit
  std::map<std::string, ValueInfo> values_;
  Bytes parameter_bytes_ = 0;
};

}  // namespace mangrove::zoo
