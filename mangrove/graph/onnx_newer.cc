#include "mangrove/graph/onnx_newer.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/movement_geometry.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/onnx.pb.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Initializers = std::map<std::string, Tensor>;

constexpr std::size_t kPadAxes = 3;  // inputs
constexpr std::size_t kResizeScales = 2, kResizeSizes = 3;

const Tensor* constant_of(const Node& node, std::size_t input, const Initializers& initializers) {
  if (!has_input(node, input)) return nullptr;
  const auto found = initializers.find(node.inputs[input]);
  return found == initializers.end() ? nullptr : &found->second;
}

// The value of an integer attribute, which is taken out of the node; of another kind it stays, for the check of
// attributes to name it.
std::int64_t take_integer(Node& node, const std::string& key, std::int64_t fallback) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return fallback;
  const auto* integer = std::get_if<std::int64_t>(&found->second);
  if (integer == nullptr) return fallback;
  const std::int64_t value = *integer;
  node.attributes.erase(found);
  return value;
}

Error not_supported(const Node& node, const std::string& what) {
  return make_error(Code::unimplemented, describe(node) + ": " + what + " is not supported");
}

Status no_reduction_over_nothing(Node& node) {
  const bool keeps_values =
      node.op == "ReduceMax" || node.op == "ReduceMean" || node.op == "ReduceMin" || node.op == "ReduceProd";
  if (!keeps_values) return not_supported(node, "attribute noop_with_empty_axes");
  node.op = "Identity";
  node.attributes.clear();
  return {};
}

// Axes became input 1.
Status reduction(Node& node, const Initializers& initializers) {
  const bool is_noop_without_axes = take_integer(node, "noop_with_empty_axes", 0) != 0;
  Ints axes;
  if (has_input(node, 1)) {
    const Tensor* given = constant_of(node, 1, initializers);
    MG_TRY(axes, constant_integers(given, "axes (input 1)").context(describe(node)));
  }
  if (node.inputs.size() > 1) node.inputs.resize(1);
  if (axes.empty() && is_noop_without_axes) return no_reduction_over_nothing(node);
  if (!axes.empty()) node.attributes["axes"] = std::move(axes);
  return {};
}

Status split(Node& node, const Initializers&) {
  const auto outputs = static_cast<std::int64_t>(node.outputs.size());
  const std::int64_t parts = take_integer(node, "num_outputs", outputs);
  if (parts == outputs) return {};
  return make_error(Code::invalid_argument, describe(node) + ": attribute num_outputs is " + std::to_string(parts) +
                                                ", but it has " + std::to_string(outputs) + " outputs");
}

Status pad(Node& node, const Initializers& initializers) {
  if (!has_input(node, kPadAxes)) return {};
  for (const auto& [input, what] : {std::pair(std::size_t{1}, "pads (input 1)"), std::pair(kPadAxes, "axes (input 3)")})
    MG_RETURN_IF_ERROR(constant_integers(constant_of(node, input, initializers), what).context(describe(node)));
  return {};
}

Status resize(Node& node, const Initializers& initializers) {
  if (take_integer(node, "antialias", 0) != 0) return not_supported(node, "attribute antialias");
  if (const auto found = node.attributes.find("keep_aspect_ratio_policy"); found != node.attributes.end()) {
    const auto* kept = std::get_if<std::string>(&found->second);
    if (kept == nullptr || *kept != "stretch") return not_supported(node, "a keep_aspect_ratio_policy but stretch");
    node.attributes.erase(found);
  }
  if (!node.attributes.contains("axes")) return {};
  const auto* mode = std::get_if<std::string>(
      &node.attributes.try_emplace("coordinate_transformation_mode", std::string("half_pixel")).first->second);
  if (mode != nullptr && *mode == "tf_crop_and_resize") return not_supported(node, "a region of interest of some axes");
  const bool is_known = constant_of(node, kResizeScales, initializers) != nullptr ||
                        constant_of(node, kResizeSizes, initializers) != nullptr;
  if (!is_known) return not_supported(node, "attribute axes without constant scales or sizes");
  return {};
}

Status average_pool(Node& node, const Initializers&) {
  const auto found = node.attributes.find("dilations");
  if (found == node.attributes.end()) return {};
  const auto* dilations = std::get_if<Ints>(&found->second);
  if (dilations == nullptr || std::ranges::any_of(*dilations, [](std::int64_t one) { return one != 1; }))
    return not_supported(node, "attribute dilations");
  node.attributes.erase(found);
  return {};
}

// Only 8-bit floats, which there are none of here, saturate or do not.
Status cast(Node& node, const Initializers&) {
  take_integer(node, "saturate", 1);
  return {};
}

Status quantization(Node& node, const Initializers&) {
  constexpr std::size_t kZeroPoint = 2;
  take_integer(node, "saturate", 1);
  if (take_integer(node, "block_size", 0) != 0) return not_supported(node, "attribute block_size");
  const std::int64_t type = take_integer(node, "output_dtype", 0);
  const bool is_default = type == 0 || has_input(node, kZeroPoint) || type == onnx::TensorProto::UINT8;
  return is_default ? Status() : not_supported(node, "attribute output_dtype without a zero point");
}

Status group_normalization(Node& node, const Initializers&) {
  take_integer(node, "stash_type", 1);
  return {};
}

// Modes got the names that Resize has.
Status grid_sample(Node& node, const Initializers&) {
  const auto found = node.attributes.find("mode");
  auto* mode = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (mode != nullptr && *mode == "linear") *mode = "bilinear";
  if (mode != nullptr && *mode == "cubic") *mode = "bicubic";
  return {};
}

struct NewerRow {
  std::string_view op;
  std::int64_t since;  // files of this opset and newer need it
  Status (*rewrite)(Node&, const Initializers&);
};

constexpr NewerRow kNewer[] = {
    {"AveragePool", 19, average_pool},
    {"Cast", 19, cast},
    {"DequantizeLinear", 19, quantization},
    {"GridSample", 20, grid_sample},
    {"GroupNormalization", 18, group_normalization},
    {"Pad", 18, pad},
    {"QuantizeLinear", 19, quantization},
    {"ReduceL1", 18, reduction},
    {"ReduceL2", 18, reduction},
    {"ReduceLogSum", 18, reduction},
    {"ReduceLogSumExp", 18, reduction},
    {"ReduceMax", 18, reduction},
    {"ReduceMean", 18, reduction},
    {"ReduceMin", 18, reduction},
    {"ReduceProd", 18, reduction},
    {"ReduceSumSquare", 18, reduction},
    {"Resize", 18, resize},
    {"Split", 18, split},
};

std::set<std::string> values_read(const GraphParts& parts) {
  std::set<std::string> read(parts.outputs.begin(), parts.outputs.end());
  for (const Node& node : parts.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  return read;
}

}  // namespace

Status rewrite_newer_opset(GraphParts& parts, std::int64_t from) {
  const std::set<std::string> before = values_read(parts);
  for (Node& node : parts.nodes) {
    for (const NewerRow& row : kNewer) {
      if (node.op == row.op && from >= row.since) MG_RETURN_IF_ERROR(row.rewrite(node, parts.initializers));
    }
  }
  const std::set<std::string> after = values_read(parts);
  std::erase_if(parts.initializers,
                [&](const auto& entry) { return before.contains(entry.first) && !after.contains(entry.first); });
  return {};
}

namespace {

/// What the rewriting of one node may look at and add to.
class NewerNode {
 public:
  NewerNode(Node node, Initializers& initializers, Values& values)
      : node_(std::move(node)), initializers_(initializers), values_(values) {}

  std::vector<Node> split(const Shape& data) {
    const Result<std::size_t> axis = resolve_axis(node_.int_or("axis", 0), data);
    const auto parts = static_cast<std::int64_t>(node_.outputs.size());
    if (!axis.ok() || has_input(node_, 1) || data[*axis] < 1 || parts < 1 || data[*axis] % parts == 0) return {node_};
    const std::int64_t size = (data[*axis] + parts - 1) / parts, last = data[*axis] - (parts - 1) * size;
    if (last < 0) return {node_};
    Ints sizes(static_cast<std::size_t>(parts), size);
    sizes.back() = last;
    node_.inputs.resize(2);
    node_.inputs[1] = add_constant("sizes", integers(sizes));
    return {node_};
  }

  std::vector<Node> pad(const Shape& data) {
    const Tensor *given = constant_of(node_, 1, initializers_), *listed = constant_of(node_, kPadAxes, initializers_);
    if (given == nullptr || listed == nullptr) return {node_};
    const Result<Ints> pads = constant_integers(given, "pads"), axes = constant_integers(listed, "axes");
    if (!pads.ok() || !axes.ok() || pads->size() != 2 * axes->size()) return {node_};
    Ints all(2 * data.rank(), 0);
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const Result<std::size_t> axis = resolve_axis((*axes)[i], data);
      if (!axis.ok()) return {node_};
      all[*axis] = (*pads)[i];
      all[data.rank() + *axis] = (*pads)[axes->size() + i];
    }
    node_.inputs[1] = add_constant("pads", integers(all));
    node_.inputs.resize(kPadAxes);
    while (node_.inputs.back().empty()) node_.inputs.pop_back();
    return {node_};
  }

  std::vector<Node> resize(const Shape& data) {
    const auto found = node_.attributes.find("axes");
    const auto* axes = found == node_.attributes.end() ? nullptr : std::get_if<Ints>(&found->second);
    if (axes == nullptr) return {node_};
    std::vector<float> scales(data.rank(), 1.0f);
    Ints sizes = data.dims();
    const Tensor *few_scales = constant_of(node_, kResizeScales, initializers_),
                 *few_sizes = constant_of(node_, kResizeSizes, initializers_);
    if (few_scales == nullptr && few_sizes == nullptr) return {node_};
    const Tensor& few = few_scales != nullptr ? *few_scales : *few_sizes;
    if (few.elements() != static_cast<std::int64_t>(axes->size()) ||
        few.dtype() != (few_scales != nullptr ? DType::f32 : DType::i64))
      return {node_};
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const Result<std::size_t> axis = resolve_axis((*axes)[i], data);
      if (!axis.ok()) return {node_};
      if (few_scales != nullptr) scales[*axis] = few.as<float>()[i];
      if (few_scales == nullptr) sizes[*axis] = few.as<std::int64_t>()[i];
    }
    const auto rank = static_cast<std::int64_t>(data.rank());
    const std::size_t at = few_scales != nullptr ? kResizeScales : kResizeSizes;
    node_.inputs[at] = at == kResizeScales ? add_constant("scales", Tensor::of<float>(Shape{rank}, scales))
                                           : add_constant("sizes", integers(sizes));
    node_.attributes.erase("axes");
    return {node_};
  }

  // Each group is a channel of an InstanceNormalization.
  std::vector<Node> group_normalization(const Shape& data) {
    const std::int64_t groups = node_.int_or("num_groups", 0);
    if (data.rank() < 3 || !data.allows_batch_first() || groups < 1 || data[1] % groups != 0 ||
        node_.inputs.size() != 3)
      return {node_};
    Ints dims = data.dims();
    dims[0] = 0;  // as it is
    const std::string grouped = unused(".grouped"), normal = unused(".normal");
    Node group{grouped, "Reshape", {}, {node_.inputs[0], add_constant("groups", integers({0, groups, -1}))}, {grouped}};
    Node restore{unused(".restored"), "Reshape", {}, {normal, add_constant("shape", integers(dims))}, node_.outputs};
    node_.op = "InstanceNormalization";
    node_.attributes.erase("num_groups");
    node_.inputs[0] = grouped;
    node_.outputs = {normal};
    return {std::move(group), node_, std::move(restore)};
  }

 private:
  static Tensor integers(const Ints& elements) {
    return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(elements.size())}, elements);
  }

  std::string unused(const std::string& suffix) const {
    std::string name = node_.name + suffix;
    while (initializers_.contains(name) || values_.contains(name)) name += "_";
    return name;
  }

  std::string add_constant(const std::string& what, Tensor value) {
    std::string name = unused("." + what);
    values_[name] = {value.dtype(), value.shape()};
    initializers_.emplace(name, std::move(value));
    return name;
  }

  Node node_;
  Initializers& initializers_;
  Values& values_;
};

}  // namespace

std::vector<Node> rewrite_newer_with_shapes(Node node, std::int64_t from, Initializers& initializers, Values& values) {
  constexpr std::int64_t kSince = 18, kGroupsHaveChannels = 21;
  const auto input = node.inputs.empty() ? values.end() : values.find(node.inputs[0]);
  if (from < kSince || input == values.end()) return {node};
  const Shape data = input->second.shape;
  const std::string op = node.op;
  NewerNode rewriting(node, initializers, values);
  if (op == "Split") return rewriting.split(data);
  if (op == "Pad") return rewriting.pad(data);
  if (op == "Resize") return rewriting.resize(data);
  if (op == "GroupNormalization" && from < kGroupsHaveChannels) return rewriting.group_normalization(data);
  return {node};
}

}  // namespace mangrove
