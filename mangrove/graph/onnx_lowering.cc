#include "mangrove/graph/onnx_lowering.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor shape_tensor(const Ints& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph), parts_(graph.parts()) {
    parts_.nodes.clear();
    read_.insert(graph.outputs().begin(), graph.outputs().end());
    for (const Node& node : graph.nodes()) {
      taken_.insert(node.name);
      read_.insert(node.inputs.begin(), node.inputs.end());
    }
    for (const auto& input : graph.inputs()) {
      if (input.second.shape.is_symbolic()) batch_input_ = &input;
    }
  }

  GraphParts run() {
    const std::int64_t opset = written_opset(graph_);
    const bool is_newer = opset >= 18;
    for (const Node& node : graph_.nodes()) {
      if (is_newer && node.op.starts_with("Reduce") && node.attributes.contains("axes")) {
        reduction_of_opset_18(node);
      } else if (is_newer && node.op == "Split" && node.inputs.size() == 1) {
        split_of_opset_18(node);
      } else if (node.op == "Cast" && is_sixteen_bit_float(node.int_or("to", 0))) {
        cast_and_widen(node);
      } else if (node.op == "GridSample" && opset >= 20) {
        grid_sample_of_opset_20(node);
      } else if (node.op == "GroupNormalization") {
        group_normalization(node);
      } else if (node.op == "BatchNormalization") {
        batch_normalization(node);
      } else if (node.op == "Dropout") {
        dropout(node);
      } else if (const auto position = shape_position(node);
                 position && batch_input_ != nullptr && batch_in(node.inputs[*position])) {
        shape_at_run_time(node, *position);
      } else {
        parts_.nodes.push_back(node);
      }
    }
    drop_unused();
    return std::move(parts_);
  }

 private:
  // The input that is a shape which may have the batch.
  static std::optional<std::size_t> shape_position(const Node& node) {
    if (node.op == "ConstantOfShape") return 0;
    if (node.op == "Expand") return 1;
    if (node.op == "Resize" && node.inputs.size() > 3 && !node.inputs[3].empty()) return 3;
    return std::nullopt;
  }

  // Where the batch is in a constant shape.
  std::optional<std::size_t> batch_in(const std::string& shape) const {
    const auto dims = graph_.initializers().at(shape).as<std::int64_t>();
    const auto found = std::find_if(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; });
    if (found == dims.end()) return std::nullopt;
    return static_cast<std::size_t>(found - dims.begin());
  }

  std::string fresh(std::string name) {
    while (graph_.has_value(name) || !taken_.insert(name).second) name += "_";
    return name;
  }

  std::string constant(const std::string& name, Tensor value) {
    std::string unique = fresh(name);
    parts_.initializers.emplace(unique, std::move(value));
    return unique;
  }

  std::string add(const Node& of, const std::string& op, std::vector<std::string> inputs,
                  std::map<std::string, Attribute> attributes = {}) {
    std::string output = fresh(of.name + "." + op);
    parts_.nodes.push_back({output, op, std::move(attributes), std::move(inputs), {output}});
    return output;
  }

  // A vector of one element, which is `batches` times the batch.
  std::string batch_at_run_time(const Node& node, std::int64_t batches) {
    const Shape& shape = batch_input_->second.shape;
    const auto axis = static_cast<std::int64_t>(*shape.symbolic_axis());
    std::string size = add(node, "Shape", {batch_input_->first}, {{"start", axis}, {"end", axis + 1}});
    if (const std::int64_t own = shape.batches(); own != 1) {
      size = add(node, "Div", {size, constant(node.name + ".own_batches", shape_tensor({own}))});
    }
    if (batches == 1) return size;
    return add(node, "Mul", {size, constant(node.name + ".batches", shape_tensor({batches}))});
  }

  void shape_at_run_time(Node node, std::size_t position) {
    const auto dims = graph_.initializers().at(node.inputs[position]).as<std::int64_t>();
    const std::size_t at = *batch_in(node.inputs[position]);
    std::vector<std::string> pieces;
    const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(at);
    if (at > 0) pieces.push_back(constant(node.name + ".before", shape_tensor({dims.begin(), begin})));
    pieces.push_back(batch_at_run_time(node, -dims[at]));
    if (at + 1 < dims.size()) pieces.push_back(constant(node.name + ".after", shape_tensor({begin + 1, dims.end()})));
    node.inputs[position] = add(node, "Concat", std::move(pieces), {{"axis", std::int64_t{0}}});
    parts_.nodes.push_back(std::move(node));
  }

  void group_normalization(const Node& node) {
    const ValueInfo& info = graph_.value(node.inputs[0]);
    const std::int64_t groups = node.int_or("num_groups", 1);
    const auto filled = [&](double value) {
      Tensor tensor(info.dtype, Shape{groups});
      if (info.dtype == DType::f32) std::fill_n(tensor.as<float>().begin(), groups, static_cast<float>(value));
      if (info.dtype == DType::f64) std::fill_n(tensor.as<double>().begin(), groups, value);
      return tensor;
    };
    const std::string grouped =
        add(node, "Reshape", {node.inputs[0], constant(node.name + ".groups", shape_tensor({0, groups, -1}))});
    const std::string normal =
        add(node, "InstanceNormalization",
            {grouped, constant(node.name + ".ones", filled(1)), constant(node.name + ".zeros", filled(0))},
            {{"epsilon", node.float_or("epsilon", 1e-5f)}});
    Ints dims = info.shape.dims();
    dims[0] = 0;  // the batch is dimension 0
    const std::string restored = add(node, "Reshape", {normal, constant(node.name + ".shape", shape_tensor(dims))});
    Ints after_channels;
    for (std::size_t i = 1; i + 1 < dims.size(); ++i) after_channels.push_back(static_cast<std::int64_t>(i));
    const std::string axes = constant(node.name + ".axes", shape_tensor(after_channels));
    const std::string scaled = add(node, "Mul", {restored, add(node, "Unsqueeze", {node.inputs[1], axes})});
    const std::string bias = add(node, "Unsqueeze", {node.inputs[2], axes});
    parts_.nodes.push_back({node.name, "Add", {}, {scaled, bias}, node.outputs});
  }

  // The running mean and variance are outputs in training only; in inference they stay what the inputs say.
  void batch_normalization(Node node) {
    constexpr std::size_t kRunningMean = 3;
    node.attributes.erase("training_mode");
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty() && read_.contains(node.outputs[i]))
        parts_.nodes.push_back(
            {fresh(node.outputs[i]), "Identity", {}, {node.inputs[kRunningMean + i - 1]}, {node.outputs[i]}});
    }
    node.outputs.resize(1);
    parts_.nodes.push_back(std::move(node));
  }

  void reduction_of_opset_18(Node node) {
    node.inputs.resize(2);
    node.inputs[1] = constant(node.name + ".axes", shape_tensor(node.ints_or("axes", {})));
    node.attributes.erase("axes");
    parts_.nodes.push_back(std::move(node));
  }

  void split_of_opset_18(Node node) {
    node.attributes["num_outputs"] = static_cast<std::int64_t>(node.outputs.size());
    parts_.nodes.push_back(std::move(node));
  }

  // Opset 20 has other words for the modes.
  void grid_sample_of_opset_20(Node node) {
    const auto found = node.attributes.find("mode");
    auto* mode = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    if (mode != nullptr && *mode == "bilinear") *mode = "linear";
    parts_.nodes.push_back(std::move(node));
  }

  void cast_and_widen(Node node) {
    const std::vector<std::string> outputs = std::exchange(node.outputs, {fresh(node.name + ".narrow")});
    const std::string narrow = node.outputs[0];
    parts_.nodes.push_back(node);
    parts_.nodes.push_back({fresh(node.name + ".wide"), "Cast", {{"to", encode_dtype(DType::f32)}}, {narrow}, outputs});
  }

  void dropout(Node node) {
    constexpr std::size_t kTrainingMode = 2;
    if (node.inputs.size() > kTrainingMode) node.inputs.resize(kTrainingMode);
    if (node.inputs.back().empty()) node.inputs.pop_back();
    parts_.nodes.push_back(std::move(node));
  }

  // Constants that are an option no more, and shapes that are put together at run time now.
  void drop_unused() {
    std::set<std::string> used(parts_.outputs.begin(), parts_.outputs.end()), before;
    for (const Node& node : parts_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const Node& node : graph_.nodes()) before.insert(node.inputs.begin(), node.inputs.end());
    std::erase_if(parts_.initializers,
                  [&](const auto& entry) { return before.contains(entry.first) && !used.contains(entry.first); });
  }

  const Graph& graph_;
  GraphParts parts_;
  const std::pair<std::string, ValueInfo>* batch_input_ = nullptr;  // one that has the batch
  std::set<std::string> taken_;
  std::set<std::string> read_;  // values that a node or the caller takes
};

}  // namespace

std::int64_t written_opset(const Graph& graph) {
  std::int64_t opset = 17;
  for (const Node& node : graph.nodes()) {
    if (node.op == "Mish") opset = std::max<std::int64_t>(opset, 18);
    if (node.op == "Gelu") opset = std::max<std::int64_t>(opset, 20);
  }
  return opset;
}

GraphParts lower_to_onnx(const Graph& graph) {
  return Lowering(graph).run();
}

}  // namespace mangrove
