#include "mangrove/graph/wide_layers.h"

#include <algorithm>
#include <cstring>

namespace mangrove {
namespace {

/// Elements [first, last) along an axis of a matrix or a vector.
Tensor part_of(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> dims(tensor.shape().begin(), tensor.shape().end());
  const std::int64_t whole = dims[axis];
  dims[axis] = last - first;
  Tensor part(tensor.dtype(), Shape(dims));
  std::int64_t rows = 1, inner = static_cast<std::int64_t>(size_of(tensor.dtype()));
  for (std::size_t i = 0; i < axis; ++i) rows *= dims[i];
  for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  for (std::int64_t row = 0; row < rows; ++row)
    std::memcpy(part.data() + row * (last - first) * inner, tensor.data() + (row * whole + first) * inner,
                static_cast<std::size_t>((last - first) * inner));
  return part;
}

class Splitting {
 public:
  Splitting(const Graph& graph, Bytes most) : graph_(graph), most_(most), parts_(graph.parts()) {
    for (const Node& node : graph.nodes())
      for (const std::string& input : node.inputs) ++readers_[input];
  }

  Result<Graph> run() {
    parts_.nodes.clear();
    for (const Node& node : graph_.nodes()) {
      if (is_wide(node)) {
        split(node);
      } else {
        parts_.nodes.push_back(node);
      }
    }
    return Graph::create(std::move(parts_));
  }

 private:
  static std::size_t outputs_axis(const Node& node) { return node.int_or("transB", 0) != 0 ? 0 : 1; }

  const Tensor* initializer(const std::string& name) const {
    const auto found = graph_.initializers().find(name);
    return found == graph_.initializers().end() ? nullptr : &found->second;
  }

  bool is_wide(const Node& node) const {
    if (node.op != "Gemm") return false;
    const Tensor* weights = initializer(node.inputs[1]);
    if (weights == nullptr || weights->bytes() <= most_ || readers_.at(node.inputs[1]) > 1) return false;
    const std::int64_t outputs = weights->shape()[outputs_axis(node)];
    if (outputs < 2) return false;
    if (node.inputs.size() < 3 || node.inputs[2].empty()) return true;
    const Tensor* bias = initializer(node.inputs[2]);
    const bool is_of_outputs = bias != nullptr && bias->shape() == Shape{outputs};
    return is_of_outputs && readers_.at(node.inputs[2]) == 1;
  }

  void split(const Node& node) {
    const std::string& weights = node.inputs[1];
    const Tensor whole = parts_.initializers.extract(weights).mapped();
    const std::size_t axis = outputs_axis(node);
    const std::int64_t outputs = whole.shape()[axis], count = std::min(outputs, (whole.bytes() + most_ - 1) / most_);
    const bool has_bias = node.inputs.size() > 2 && !node.inputs[2].empty();
    const Tensor bias = has_bias ? parts_.initializers.extract(node.inputs[2]).mapped() : Tensor();
    Node joined{.name = node.name,
                .op = "Concat",
                .attributes = {{"axis", std::int64_t{1}}},
                .inputs = {},
                .outputs = node.outputs};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = i * outputs / count, last = (i + 1) * outputs / count;
      const std::string suffix = "/part" + std::to_string(i + 1);
      Node part = node;
      part.name += suffix;
      part.inputs[1] += suffix;
      part.outputs = {node.outputs[0] + suffix};
      parts_.initializers[part.inputs[1]] = part_of(whole, axis, first, last);
      if (has_bias) {
        part.inputs[2] += suffix;
        parts_.initializers[part.inputs[2]] = part_of(bias, 0, first, last);
      }
      joined.inputs.push_back(part.outputs[0]);
      parts_.nodes.push_back(std::move(part));
    }
    parts_.nodes.push_back(std::move(joined));
  }

  const Graph& graph_;
  const Bytes most_;
  GraphParts parts_;
  std::map<std::string, std::size_t> readers_;
};

}  // namespace

Result<Graph> split_wide_layers(const Graph& graph, Bytes most) {
  return Splitting(graph, most).run();
}

}  // namespace mangrove
