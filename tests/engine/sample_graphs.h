#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// Uniform values in [low, high]; whole numbers of that range for integer types, true or false for booleans.
Tensor uniform_tensor(DType dtype, const Shape& shape, std::uint64_t seed, double low = -1, double high = 1);

/// Builds small graphs node by node; create() fails the test on an error.
class GraphSketch {
 public:
  explicit GraphSketch(DType dtype) : dtype_(dtype) { parts_.name = "sketch"; }

  GraphSketch& input(const std::string& name, const Shape& shape, std::optional<DType> dtype = {});
  GraphSketch& parameter(const std::string& name, const Shape& shape, double low = -1, double high = 1);
  GraphSketch& constant(const std::string& name, Tensor value);
  /// The node is named as its output.
  GraphSketch& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                    std::map<std::string, Attribute> attributes = {});
  /// One with several outputs, named as the first.
  GraphSketch& node_of_several(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
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
