#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// A tensor known while a graph is loaded: what the computations of shapes in a file work on.
struct ShapeValue {
  /// A number, or a whole multiple of the symbolic batch, which may be moved, compared, added to others of its kind,
  /// multiplied, and divided where that leaves no remainder.
  struct Element {
    std::int64_t integer = 0;  // of integer and boolean types
    double real = 0;           // of f32 and f64
    std::int64_t batches = 0;  // at least 1: so many times the batch, whatever the type

    bool is_batch() const { return batches > 0; }
  };
  DType dtype = DType::i64;
  Shape shape;                    // symbolic: then all elements are alike
  std::vector<Element> elements;  // row-major; a single one, for all, where the shape is symbolic

  bool has_batch() const;  // whether an element is the batch or a multiple of it
  bool is_zero() const;    // whether all elements are 0
};

/// A value of more elements is not computed while loading.
constexpr std::int64_t kMostShapeElements = std::int64_t{1} << 16;

ShapeValue shape_value_of(const Tensor& tensor);
/// An element that is k times the batch becomes -k. The shape must not be symbolic.
Tensor tensor_of(const ShapeValue& value);

/// Whether the operator is one that shapes are computed with: Shape, Size, Gather, Concat, Add, Floor, Range ...
bool is_shape_operator(std::string_view op);

/// What a node with such an operator (opset 17) gives. `inputs`: null where left out. `infos`: types and shapes of the
/// same inputs; Shape and Size need no more than these, all others need every value.
/// errors: why the result is not known: a value that is missing, arithmetic on the batch, an index that does not exist.
Result<ShapeValue> evaluate_shape_node(const Node& node, std::span<const ShapeValue* const> inputs,
                                       std::span<const ValueInfo* const> infos);

}  // namespace mangrove
