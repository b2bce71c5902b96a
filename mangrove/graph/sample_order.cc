#include "mangrove/graph/sample_order.h"

#include "mangrove/graph/node_check.h"

namespace mangrove {
namespace {

const Shape& shape_of(const Values& values, const std::string& name) {
  return values.at(name).shape;
}

}  // namespace

std::int64_t SampleOrder::outer_of(const std::string& value, const Shape& shape) const {
  if (shape.batches() == 1) return 1;
  const auto found = outer_.find(value);
  return found == outer_.end() ? kAny : found->second;
}

std::optional<std::int64_t> SampleOrder::outer_in(const std::string& value, const Shape& shape,
                                                  const Shape& reshaped) const {
  const std::int64_t own = outer_of(value, shape);
  if (own == kAny || shape.with_batch(1).elements() == 0) return kAny;
  const std::int64_t before = shape.elements(0, *shape.symbolic_axis()) * own;
  const std::int64_t left = reshaped.elements(0, *reshaped.symbolic_axis());
  if (before % left != 0 || reshaped.batches() % (before / left) != 0) return std::nullopt;
  return before / left;
}

Status SampleOrder::note_reshaped(const Node& node, const Values& values) {
  const Shape &input = shape_of(values, node.inputs[0]), &output = shape_of(values, node.outputs[0]);
  if (!input.is_symbolic() || !output.is_symbolic()) return {};
  const std::optional<std::int64_t> outer = outer_in(node.inputs[0], input, output);
  if (!outer) {
    return make_error(Code::unimplemented, describe(node) + ": input " + to_string(input) + " would become " +
                                               to_string(output) +
                                               ", which mixes the samples of the batch N: supported is merging " +
                                               "dimensions with the batch and taking them out again; give the " +
                                               "input's shape with a number for N (--input-shape)");
  }
  outer_[node.outputs[0]] = *outer;
  return {};
}

Status SampleOrder::note_kept(const Node& node, const std::string& output, const Values& values) {
  const std::int64_t batches = shape_of(values, output).batches();
  std::int64_t outer = kAny;
  for (const std::string& name : node.inputs) {
    if (name.empty() || shape_of(values, name).batches() != batches) continue;
    const std::int64_t own = outer_of(name, shape_of(values, name));
    if (own != kAny && outer != kAny && own != outer) {
      return make_error(Code::unimplemented, describe(node) + ": its inputs hold the samples of " +
                                                 std::to_string(batches) + "N places in different orders");
    }
    if (own != kAny) outer = own;
  }
  outer_[output] = outer;
  return {};
}

Status SampleOrder::note(const Node& node, const Values& values) {
  if (node.op == "Reshape" || node.op == "Flatten") return note_reshaped(node, values);
  for (const std::string& output : node.outputs) {
    if (output.empty() || shape_of(values, output).batches() == 1) continue;
    MG_RETURN_IF_ERROR(note_kept(node, output, values));
  }
  return {};
}

}  // namespace mangrove
