#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// One input of a sampled node.
struct SampleInput {
  enum class Role { fed, parameter, constant, absent };
  Role role = Role::fed;
  Shape shape = {};      // kBatch first where the batch is symbolic
  Tensor constant = {};  // of role constant
};

/// One use of one operator, small enough for central differences.
struct OperatorSample {
  std::string name;  // "Conv_strided", also the test's name
  std::string op;
  std::vector<SampleInput> inputs;
  std::map<std::string, Attribute> attributes = {};
};

/// Samples of every operator of the operator table, odd shapes and all attributes that change what is computed.
/// A new row of the table needs at least one here: the tests that read this list fail without.
std::vector<OperatorSample> operator_samples();

/// A graph of this node alone: inputs "in0", ..., output "y"; initializers drawn from a fixed seed, in [-1, 1].
Graph sample_graph(const OperatorSample& sample, DType dtype);

/// Uniform values in [-1, 1] times `scale`; f32 or f64.
Tensor uniform_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double scale = 1);

/// Builds small graphs node by node; create() fails the test on an error.
class GraphSketch {
 public:
  explicit GraphSketch(DType dtype) : dtype_(dtype) { parts_.name = "sketch"; }

  GraphSketch& input(const std::string& name, const Shape& shape);
  GraphSketch& parameter(const std::string& name, const Shape& shape, double scale = 1);
  GraphSketch& constant(const std::string& name, Tensor value);
  /// The node is named as its output.
  GraphSketch& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                    std::map<std::string, Attribute> attributes = {});
  Graph create(std::vector<std::string> outputs);

 private:
  DType dtype_;
  GraphParts parts_;
};

/// LeNet-5 in miniature: conv, tanh, max pool, conv, relu, max pool, flatten, two fully connected layers; input "x"
/// [N, 1, 14, 14], output "y" [N, 3].
Graph tiny_lenet(DType dtype);

/// A graph whose values have several consumers, a parameter that two nodes share, and two outputs, one of which is also
/// used inside; input "x" [N, 2, 6, 6], outputs "y" and "inner".
Graph branching_graph(DType dtype);

}  // namespace mangrove
