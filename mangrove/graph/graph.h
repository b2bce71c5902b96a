#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// Type and shape of a value. One dimension may be the batch (kBatch) or a multiple of it.
struct ValueInfo {
  DType dtype = DType::f32;
  Shape shape;

  bool operator==(const ValueInfo&) const = default;
};

/// An operator's attribute, in ONNX's kinds.
using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, Tensor,
                               std::vector<std::string>>;

/// One use of an ONNX operator (domain ai.onnx, opset 17).
struct Node {
  std::string name;  // unique in its graph, never empty
  std::string op;    // "Conv"
  std::map<std::string, Attribute> attributes;
  std::vector<std::string> inputs;   // value names; "" for an optional input left out
  std::vector<std::string> outputs;  // value names; "" for an optional output left out

  /// The attribute, or `fallback` where the node has none. The operator table has checked that the kind is right.
  std::int64_t int_or(const std::string& key, std::int64_t fallback) const;
  float float_or(const std::string& key, float fallback) const;
  std::string string_or(const std::string& key, const std::string& fallback) const;
  std::vector<std::int64_t> ints_or(const std::string& key, std::vector<std::int64_t> fallback) const;
  std::vector<std::string> strings_or(const std::string& key, std::vector<std::string> fallback) const;
};

/// What a Graph is made from. Nodes may come in any order that can be sorted.
struct GraphParts {
  std::string name;
  std::vector<std::pair<std::string, ValueInfo>> inputs;  // fed at run time, in order
  std::vector<std::string> outputs;                       // value names, in order
  std::vector<Node> nodes;
  std::map<std::string, Tensor> initializers;   // parameters and constants
  std::map<std::string, std::string> metadata;  // ONNX metadata_props, e.g. class names
};

/// A directed acyclic graph of ONNX operators in topological order, every value's type and shape known (the batch may
/// be symbolic). Immutable; cheap to copy apart from its nodes (tensors are shared).
/// threads: any.
class Graph {
 public:
  /// Checks, sorts topologically (keeping the given order where it can), and infers types and shapes.
  /// errors: invalid_argument: unknown operator, wrong attribute or number of inputs, undefined or doubly defined
  /// value, cycle, shapes that do not fit; the message names node and value.
  static Result<Graph> create(GraphParts parts);

  const std::string& name() const { return parts_.name; }
  const std::vector<std::pair<std::string, ValueInfo>>& inputs() const { return parts_.inputs; }
  const std::vector<std::string>& outputs() const { return parts_.outputs; }
  const std::vector<Node>& nodes() const { return parts_.nodes; }
  const std::map<std::string, Tensor>& initializers() const { return parts_.initializers; }
  const std::map<std::string, std::string>& metadata() const { return parts_.metadata; }

  /// Type and shape of a graph input, initializer or node output. The value must exist.
  const ValueInfo& value(const std::string& name) const;
  bool has_value(const std::string& name) const { return values_.contains(name); }

  /// Names of the initializers that training changes: floating point, used by a node as a parameter (as the operator
  /// table says), in node order; not those of rank 0, which are numbers in formulas (x * 0.5). This order is the order
  /// of a model's flat parameter vector everywhere.
  std::vector<std::string> parameters() const;
  /// Names of the floating-point initializers that training forward passes update (batch normalization's running mean
  /// and variance), in node order.
  std::vector<std::string> states() const;
  /// Elements of all parameters together.
  std::int64_t parameter_elements() const;

  /// A copy with these initializers replaced. errors: not_found, invalid_argument (other dtype or shape).
  Result<Graph> with_initializers(const std::map<std::string, Tensor>& replaced) const;

  /// A copy whose parameters are zeros that share memory and take up none: for programs whose parameters are set later.
  Graph without_weights() const;
  /// Not of a copy made by without_weights().
  bool has_weights() const { return has_weights_; }

  /// The sub-graph of nodes [first, last): a stage. Values that come from outside become its inputs, in order of first
  /// use; values used outside, and graph outputs, become its outputs; it keeps only the initializers that it uses.
  /// errors: out_of_range; invalid_argument (empty range).
  Result<Graph> slice(std::size_t first, std::size_t last) const;

  /// The same parts, e.g. to build a changed graph from.
  const GraphParts& parts() const { return parts_; }

 private:
  Graph() = default;
  GraphParts parts_;
  std::map<std::string, ValueInfo> values_;
  bool has_weights_ = true;
};

}  // namespace mangrove
