#include "mangrove/graph/batch_in_shapes.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor batch_shape(const Ints& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// The size that -1 stands for beside `batches` times the batch: what the input holds divided by the rest of the target.
std::optional<std::int64_t> size_beside_batch(const Ints& target, std::size_t batch, std::int64_t batches,
                                              const Shape& input) {
  if (!input.is_symbolic()) return std::nullopt;
  const std::int64_t elements = input.with_batch(1).elements();
  std::int64_t known = batches;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (i == batch || target[i] == -1) continue;
    const std::int64_t size = target[i] == 0 && i < input.rank() ? input[i] : target[i];
    if (size < 1 || known > elements / size) return std::nullopt;
    known *= size;
  }
  if (elements % known != 0) return std::nullopt;
  return elements / known;
}

// A Reshape's target: 0 keeps the batch where it is, else it is what -1 stands for.
std::optional<Tensor> reshape_target(const ShapeValue& value, const Shape& input) {
  Ints target;
  std::optional<std::size_t> batch;
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    if (value.elements[i].is_batch() && batch) return std::nullopt;
    if (value.elements[i].is_batch()) batch = i;
    target.push_back(value.elements[i].is_batch() ? 0 : value.elements[i].integer);
  }
  const std::int64_t batches = value.elements[*batch].batches;
  if (*batch < input.rank() && input[*batch] == -batches) return batch_shape(target);
  if (const auto open = std::find(target.begin(), target.end(), -1); open != target.end()) {
    const std::optional<std::int64_t> size = size_beside_batch(target, *batch, batches, input);
    if (!size) return std::nullopt;
    *open = *size;
  }
  target[*batch] = -1;
  return batch_shape(target);
}

// A Slice's ends: the batch is the end of the dimension that is the batch.
std::optional<Tensor> slice_ends(const ShapeValue& value, const OperatorInputs& inputs) {
  const Shape& input = inputs.values[0]->shape;
  const Tensor* axes = inputs.constants.size() > 3 ? inputs.constants[3] : nullptr;
  if (axes != nullptr && axes->elements() != static_cast<std::int64_t>(value.elements.size())) return std::nullopt;
  Ints ends;
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    ends.push_back(value.elements[i].integer);
    if (!value.elements[i].is_batch()) continue;
    std::int64_t axis = static_cast<std::int64_t>(i);
    if (axes != nullptr) axis = shape_value_of(*axes).elements[i].integer;
    if (axis < 0) axis += static_cast<std::int64_t>(input.rank());
    const std::optional<std::size_t> symbolic = input.symbolic_axis();
    if (!symbolic || axis != static_cast<std::int64_t>(*symbolic)) return std::nullopt;
    if (value.elements[i].batches < input.batches()) return std::nullopt;
    ends.back() = std::numeric_limits<std::int64_t>::max();
  }
  return batch_shape(ends);
}

}  // namespace

std::optional<Tensor> with_batch_in_place(const Node& node, std::size_t input, const ShapeValue& value,
                                          const OperatorInputs& inputs) {
  if (value.dtype != DType::i64 || value.shape.rank() != 1) return std::nullopt;
  if (node.op == "Reshape" && input == 1 && inputs.values[0] != nullptr) {
    return reshape_target(value, inputs.values[0]->shape);
  }
  if (node.op == "Slice" && input == 2 && inputs.values[0] != nullptr) return slice_ends(value, inputs);
  const bool is_shape = (node.op == "Expand" && input == 1) || (node.op == "ConstantOfShape" && input == 0) ||
                        (node.op == "Resize" && input == 3);
  return is_shape ? std::optional(tensor_of(value)) : std::nullopt;
}

}  // namespace mangrove
