#include "mangrove/compress/quantize.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "mangrove/compress/quantized_weights.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::compress {
namespace {

/// How a value lies in bytes; its zero point is 0.
struct ByteScale {
  DType dtype = DType::u8;
  float scale = 1;
  std::string name;  // of the initializer; "" until it is used
};

Result<ByteScale> byte_scale(const std::vector<std::string>& sources,
                             const std::map<std::string, Histogram>& calibration, const RangeMethod& method) {
  bool is_signed = false;
  for (const std::string& source : sources) {
    const auto seen = calibration.find(source);
    if (seen == calibration.end() || seen->second.empty()) {
      return make_error(Code::not_found, "value '" + source + "' has not been calibrated");
    }
    is_signed |= seen->second.low() < 0;
  }
  const int steps = is_signed ? 127 : 255;
  double limit = 0;
  for (const std::string& source : sources) limit = std::max(limit, method.limit(calibration.at(source), steps));
  const auto scale = static_cast<float>(limit / steps);
  return ByteScale{is_signed ? DType::i8 : DType::u8, scale < std::numeric_limits<float>::min() ? 1 : scale, ""};
}

/// The dimension of the weights with the output channels.
std::size_t channel_axis(const Node& node) {
  return node.op == "MatMul" || (node.op == "Gemm" && node.int_or("transB", 0) == 0) ? 1 : 0;
}

class Rewriter {
 public:
  Rewriter(const Graph& graph, const QuantizationPlan& plan, std::vector<ByteScale> scales)
      : graph_(graph), plan_(plan), scales_(std::move(scales)), parts_(graph.parts()), uses_(graph.parts()) {
    parts_.nodes.clear();
    for (const Node& node : graph.nodes()) node_names_.insert(node.name);
  }

  Result<Graph> run() {
    for (const auto& [name, info] : graph_.inputs()) make_bytes(name);
    for (Node node : graph_.nodes()) {
      const std::string data = node.inputs.empty() ? "" : node.inputs[0];
      for (std::string& input : node.inputs) {
        if (const auto bytes = dequantized_.find(input); bytes != dequantized_.end()) input = bytes->second;
      }
      if (std::ranges::count(plan_.layers, node.name) > 0) quantize_layer(node, scales_[plan_.scale_of.at(data)].scale);
      const std::vector<std::string> outputs = node.outputs;
      parts_.nodes.push_back(std::move(node));
      for (const std::string& output : outputs) make_bytes(output);
    }
    drop_unused();
    return Graph::create(std::move(parts_)).context("quantized graph");
  }

 private:
  std::string add_initializer(const std::string& stem, Tensor tensor) {
    const std::string name = uses_.unused_name(stem);
    parts_.initializers.emplace(name, std::move(tensor));
    return name;
  }

  /// Zero points, shared: of one for all channels (count 0) or one for each.
  const std::string& zero_points(DType dtype, std::int64_t count) {
    std::string& name = zeros_[{dtype, count}];
    if (name.empty()) {
      const std::string size = count == 0 ? "" : "." + std::to_string(count);
      name = add_initializer(std::string("zero_point.") + dtype_name(dtype) + size,
                             Tensor(dtype, count == 0 ? Shape() : Shape{count}));
    }
    return name;
  }

  /// Appends op(x, scale, zero point) and gives its result.
  std::string append(const std::string& op, const std::string& stem, std::vector<std::string> inputs,
                     std::map<std::string, Attribute> attributes = {}) {
    std::string name = stem;
    while (!node_names_.insert(name).second) name += "_";
    const std::string output = uses_.unused_name(stem);
    parts_.nodes.push_back({.name = name,
                            .op = op,
                            .attributes = std::move(attributes),
                            .inputs = std::move(inputs),
                            .outputs = {output}});
    return output;
  }

  void make_bytes(const std::string& value) {
    const auto planned = plan_.scale_of.find(value);
    if (planned == plan_.scale_of.end()) return;
    ByteScale& scale = scales_[planned->second];
    if (scale.name.empty()) scale.name = add_initializer(value + ".scale", Tensor::of<float>({}, {scale.scale}));
    const std::string zero = zero_points(scale.dtype, 0);
    const std::string bytes = append("QuantizeLinear", value + ".quantized", {value, scale.name, zero});
    dequantized_[value] = append("DequantizeLinear", value + ".dequantized", {bytes, scale.name, zero});
  }

  /// A DequantizeLinear of constants by channel.
  std::string append_constant(const std::string& stem, const Tensor& bytes, const std::string& scales,
                              std::size_t axis) {
    const std::string values = add_initializer(stem + ".quantized", bytes);
    return append("DequantizeLinear", stem + ".dequantized",
                  {values, scales, zero_points(bytes.dtype(), bytes.shape()[axis])},
                  {{"axis", static_cast<std::int64_t>(axis)}});
  }

  void quantize_layer(Node& node, float input_scale) {
    const bool has_bias = node.inputs.size() > 2 && !node.inputs[2].empty();
    const std::string bias_name = has_bias ? node.inputs[2] : "";
    const auto bias = has_bias ? graph_.initializers().at(bias_name).as<float>() : std::span<const float>();
    const std::size_t axis = channel_axis(node);
    const QuantizedWeights weights =
        quantize_weights(graph_.initializers().at(node.inputs[1]), axis, bias, input_scale);
    // layers that share weights share the bytes, unless a bias has made the scales of one larger
    const std::string weights_name = node.inputs[1];
    const auto scale_values = weights.scales.as<float>();
    SharedWeights& shared =
        weights_[{weights_name, axis, std::vector<float>(scale_values.begin(), scale_values.end())}];
    if (shared.dequantized.empty()) {
      shared.scales = add_initializer(weights_name + ".scales", weights.scales);
      shared.dequantized = append_constant(weights_name, weights.values, shared.scales, axis);
    }
    node.inputs[1] = shared.dequantized;
    if (!has_bias) return;
    const std::string scales = add_initializer(bias_name + ".scales", bias_scales(input_scale, weights.scales));
    node.inputs[2] = append_constant(bias_name, quantize_bias(bias, input_scale, weights.scales), scales, 0);
  }

  /// The float weights that no node reads any more.
  void drop_unused() {
    const ValueUses left(parts_);
    std::erase_if(parts_.initializers, [&](const auto& initializer) {
      return left.count(initializer.first) == 0 && !left.is_output(initializer.first);
    });
  }

  struct SharedWeights {
    std::string scales, dequantized;
  };

  const Graph& graph_;
  const QuantizationPlan& plan_;
  std::vector<ByteScale> scales_;  // by number in the plan
  GraphParts parts_;
  ValueUses uses_;
  std::set<std::string> node_names_;
  std::map<std::string, std::string> dequantized_;  // value -> what stands in its place
  std::map<std::pair<DType, std::int64_t>, std::string> zeros_;
  std::map<std::tuple<std::string, std::size_t, std::vector<float>>, SharedWeights> weights_;
};

}  // namespace

Result<Graph> quantize_static(const Graph& graph, const QuantizationPlan& plan,
                              const std::map<std::string, Histogram>& calibration, const RangeMethod& method) {
  std::vector<ByteScale> scales;
  for (const std::vector<std::string>& sources : plan.sources) {
    MG_TRY(ByteScale scale, byte_scale(sources, calibration, method));
    scales.push_back(std::move(scale));
  }
  return Rewriter(graph, plan, std::move(scales)).run();
}

}  // namespace mangrove::compress
