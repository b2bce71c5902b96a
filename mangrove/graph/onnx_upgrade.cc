#include "mangrove/graph/onnx_upgrade.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "mangrove/graph/einsum_lowering.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/onnx_newer.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

/// What the upgrade of one node may look at and add to.
class Upgrade {
 public:
  explicit Upgrade(GraphParts& parts) : parts_(parts), read_(parts.outputs.begin(), parts.outputs.end()) {
    for (const auto& [name, info] : parts.inputs) names_.insert(name);
    for (const auto& [name, tensor] : parts.initializers) names_.insert(name);
    for (const Node& node : parts.nodes) {
      read_.insert(node.inputs.begin(), node.inputs.end());
      names_.insert(node.outputs.begin(), node.outputs.end());
    }
  }

  bool is_read(const std::string& value) const { return read_.contains(value); }

  const Tensor* constant(const Node& node, std::size_t input) const {
    if (input >= node.inputs.size()) return nullptr;
    const auto found = parts_.initializers.find(node.inputs[input]);
    return found == parts_.initializers.end() ? nullptr : &found->second;
  }

  /// Makes attribute `key`, where the node has it, its constant input at `position`.
  void to_input(Node& node, const std::string& key, std::size_t position) {
    const auto found = node.attributes.find(key);
    if (found == node.attributes.end()) return;
    const std::optional<Tensor> value = tensor_of(found->second);
    if (!value) return;  // of the wrong kind: the check of attributes will say so
    std::string name = node.name + "." + key;
    while (!names_.insert(name).second) name += "_";
    parts_.initializers.emplace(name, *value);
    if (node.inputs.size() <= position) node.inputs.resize(position + 1);
    node.inputs[position] = std::move(name);
    node.attributes.erase(found);
  }

 private:
  // An integer as a vector of one (k of TopK), a real as a scalar.
  static std::optional<Tensor> tensor_of(const Attribute& attribute) {
    if (const auto* ints = std::get_if<Ints>(&attribute)) {
      return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(ints->size())}, *ints);
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) {
      return Tensor::of<float>(Shape{static_cast<std::int64_t>(reals->size())}, *reals);
    }
    if (const auto* real = std::get_if<float>(&attribute)) return Tensor::of<float>(Shape{}, {*real});
    if (const auto* integer = std::get_if<std::int64_t>(&attribute)) {
      return Tensor::of<std::int64_t>(Shape{1}, {*integer});
    }
    return std::nullopt;
  }

  GraphParts& parts_;
  std::set<std::string> read_;
  std::set<std::string> names_;
};

Status keep_outputs(const Upgrade& upgrade, Node& node, std::size_t count) {
  while (node.outputs.size() > count) {
    if (upgrade.is_read(node.outputs.back())) {
      return make_error(Code::unimplemented, describe(node) + ": output " + std::to_string(node.outputs.size() - 1) +
                                                 " ('" + node.outputs.back() + "') is not supported");
    }
    node.outputs.pop_back();
  }
  return {};
}

Status axes_to_input(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "axes", 1);
  return {};
}

// Batch statistics were outputs 1 to 4, and without `spatial` each activation had its own.
Status batch_normalization(Upgrade& upgrade, Node& node) {
  if (const auto found = node.attributes.find("spatial"); found != node.attributes.end()) {
    if (const auto* spatial = std::get_if<std::int64_t>(&found->second); spatial == nullptr || *spatial != 1) {
      return make_error(Code::unimplemented, describe(node) + ": attribute spatial other than 1 is not supported");
    }
    node.attributes.erase(found);
  }
  return keep_outputs(upgrade, node, 1);
}

Status clip(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "min", 1);
  upgrade.to_input(node, "max", 2);
  return {};
}

Status dropout(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "ratio", 1);
  return {};
}

Status pad(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "pads", 1);
  upgrade.to_input(node, "value", 2);
  return {};
}

// ScatterElements until opset 10.
Status scatter(Upgrade&, Node& node) {
  node.op = "ScatterElements";
  return {};
}

// Up to opset 10 a coordinate of the output was divided by the scale and rounded down.
Status old_resize(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "scales", 1);
  node.op = "Resize";
  node.inputs.insert(node.inputs.begin() + (node.inputs.empty() ? 0 : 1), "");  // no region of interest
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = std::string("floor");
  return {};
}

// Empty tensors stood for inputs left out; the region of interest matters to one mode only.
Status resize(Upgrade& upgrade, Node& node) {
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* constant = upgrade.constant(node, i);
    if (constant != nullptr && constant->elements() == 0) node.inputs[i].clear();
  }
  const auto mode = node.attributes.find("coordinate_transformation_mode");
  const auto* name = mode == node.attributes.end() ? nullptr : std::get_if<std::string>(&mode->second);
  const bool crops = name != nullptr && *name == "tf_crop_and_resize";
  if (!crops && node.inputs.size() > 1) node.inputs[1].clear();
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  return {};
}

Status slice(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "starts", 1);
  upgrade.to_input(node, "ends", 2);
  upgrade.to_input(node, "axes", 3);
  return {};
}

Status split(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "split", 1);
  return {};
}

Status top_k(Upgrade& upgrade, Node& node) {
  upgrade.to_input(node, "k", 1);
  return {};
}

struct UpgradeRow {
  std::string_view op;
  std::int64_t before;  // files of older opsets need it
  Status (*upgrade)(Upgrade&, Node&);
};

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

// Applied in this order. Operators that only learnt new types or new optional parts need nothing.
constexpr UpgradeRow kUpgrades[] = {
    {"BatchNormalization", 14, batch_normalization},
    {"Clip", 11, clip},
    {"Dropout", 12, dropout},
    {"Pad", 11, pad},
    {"ReduceSum", 13, axes_to_input},
    {"Resize", 11, old_resize},
    {"Upsample", 10, old_resize},
    {"Resize", kAlways, resize},
    {"Scatter", 11, scatter},
    {"Slice", 10, slice},
    {"Split", 13, split},
    {"Squeeze", 13, axes_to_input},
    {"TopK", 10, top_k},
    {"Unsqueeze", 13, axes_to_input},
};

}  // namespace

Status upgrade_opset(GraphParts& parts, std::int64_t from) {
  MG_RETURN_IF_ERROR(rewrite_newer_opset(parts, from));
  Upgrade upgrade(parts);
  for (Node& node : parts.nodes) {
    for (const UpgradeRow& row : kUpgrades) {
      if (node.op == row.op && from < row.before) MG_RETURN_IF_ERROR(row.upgrade(upgrade, node));
    }
    if (const Operator* known = find_operator(node.op); known != nullptr) {
      MG_RETURN_IF_ERROR(keep_outputs(upgrade, node, known->max_outputs));
      if (node.op == "Split") continue;  // into as many parts as it has outputs
      // An output that nobody reads, e.g. the mask of a Dropout, would cost memory and time.
      const std::size_t least = std::max<std::size_t>(known->min_outputs, 1);
      while (node.outputs.size() > least && !upgrade.is_read(node.outputs.back())) node.outputs.pop_back();
    }
  }
  return {};
}

namespace {

bool all_one_after(const Shape& shape, std::size_t axis) {
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) {
    if (shape[i] != 1) return false;
  }
  return true;
}

// Over the rows of a matrix, to which the dimensions before and after the axis are merged.
std::vector<Node> over_merged_dimensions(Node node, std::int64_t axis, const Shape& shape,
                                         std::map<std::string, Tensor>& initializers, Values& values) {
  const auto unused = [&](std::string name) {
    while (initializers.contains(name) || values.contains(name)) name += "_";
    return name;
  };
  const std::string merged = unused(node.name + ".merged"), result = unused(node.name + ".rows");
  const std::string target = unused(node.name + ".shape");
  std::vector<std::int64_t> sizes = shape.dims();
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, -1);  // one at most is symbolic
  const Tensor dims = Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(sizes.size())}, sizes);
  initializers.emplace(target, dims);
  values[target] = {dims.dtype(), dims.shape()};
  Node merge{.name = merged, .op = "Flatten", .attributes = {}, .inputs = {node.inputs[0]}, .outputs = {merged}};
  merge.attributes["axis"] = axis;
  Node restore{.name = target, .op = "Reshape", .attributes = {}, .inputs = {result, target}, .outputs = node.outputs};
  node.inputs = {merged};
  node.outputs = {result};
  node.attributes["axis"] = std::int64_t{1};
  return {std::move(merge), std::move(node), std::move(restore)};
}

}  // namespace

std::vector<Node> upgrade_with_shapes(Node node, std::int64_t from, std::map<std::string, Tensor>& initializers,
                                      Values& values) {
  if (node.op == "Einsum") return einsum_as_matmul(std::move(node), initializers, values);
  if (from > 17) return rewrite_newer_with_shapes(std::move(node), from, initializers, values);
  const bool merges = from < 13 && (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Hardmax");
  if (!merges || node.inputs.size() != 1) return {node};
  const std::int64_t* axis =
      std::get_if<std::int64_t>(&node.attributes.try_emplace("axis", std::int64_t{1}).first->second);
  const auto input = values.find(node.inputs[0]);
  if (axis == nullptr || input == values.end()) return {node};
  const Shape shape = input->second.shape;
  const std::int64_t position = *axis < 0 ? *axis + static_cast<std::int64_t>(shape.rank()) : *axis;
  if (position < 0 || position >= static_cast<std::int64_t>(shape.rank())) return {node};
  if (all_one_after(shape, static_cast<std::size_t>(position))) return {node};
  return over_merged_dimensions(std::move(node), position, shape, initializers, values);
}

}  // namespace mangrove
