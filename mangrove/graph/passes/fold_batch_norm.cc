// y = (conv(x) - mean) scale / sqrt(variance + epsilon) + bias is a convolution with other weights and another bias
// (Jacob et al., Quantization and Training of Neural Networks, CVPR 2018, section 3.2).
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/passes/passes.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::passes_detail {
namespace {

/// y[c] = factor[c] x[c] + offset[c]: a BatchNormalization in inference.
struct Affine {
  std::vector<double> factor;
  std::vector<double> offset;
};

std::vector<double> doubles_of(const Tensor& tensor) {
  std::vector<double> values;
  const auto append = [&](const auto& elements) { values.assign(elements.begin(), elements.end()); };
  tensor.dtype() == DType::f32 ? append(tensor.as<float>()) : append(tensor.as<double>());
  return values;
}

Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  if (dtype == DType::f64) return Tensor::of<double>(shape, values);
  return Tensor::of<float>(shape, std::vector<float>(values.begin(), values.end()));
}

std::optional<Affine> affine_of(const Node& norm, const GraphParts& parts) {
  std::vector<std::vector<double>> given;  // scale, bias, mean, variance
  for (std::size_t i = 1; i <= 4; ++i) {
    const auto found = parts.initializers.find(norm.inputs[i]);
    if (found == parts.initializers.end()) return std::nullopt;
    given.push_back(doubles_of(found->second));
  }
  const double epsilon = norm.float_or("epsilon", 1e-5f);
  Affine affine;
  for (std::size_t c = 0; c < given[0].size(); ++c) {
    affine.factor.push_back(given[0][c] / std::sqrt(given[3][c] + epsilon));
    affine.offset.push_back(given[1][c] - given[2][c] * affine.factor[c]);
  }
  return affine;
}

/// Where a node's weights have their output channels: channel(i) of element i.
struct Channels {
  std::int64_t inner;         // elements between one channel and the next
  std::int64_t count;         // channels along that dimension
  std::int64_t group_stride;  // elements of one group's weights; 0: no groups along another dimension
  std::size_t of(std::int64_t element) const {
    const std::int64_t group = group_stride == 0 ? 0 : element / group_stride;
    return static_cast<std::size_t>(group * count + element / inner % count);
  }
};

// Conv: [M, C/g, ...]. ConvTranspose: [C, M/g, ...], groups split dimension 0. Gemm: [K, N] or, transposed, [N, K].
Channels channels_of(const Node& node, const Shape& weights) {
  const std::size_t rank = weights.rank();
  if (node.op == "Conv") return {weights.elements(1, rank), weights[0], 0};
  if (node.op == "ConvTranspose") {
    const std::int64_t groups = node.int_or("group", 1);
    return {weights.elements(2, rank), weights[1], weights.elements() / groups};
  }
  return node.int_or("transB", 0) != 0 ? Channels{weights[1], weights[0], 0} : Channels{1, weights[1], 0};
}

// Each element times the factor of its channel.
template <class T>
void scale(std::span<T> weights, const Channels& channels, const std::vector<double>& factors) {
  const auto run = static_cast<std::size_t>(channels.inner);  // that many elements have one channel
  for (std::size_t first = 0; first < weights.size(); first += run) {
    const double factor = factors[channels.of(static_cast<std::int64_t>(first))];
    for (T& weight : weights.subspan(first, run)) weight = static_cast<T>(weight * factor);
  }
}

// The bias of each channel as it is added, or nothing where it is not one number per channel.
std::optional<std::vector<double>> bias_of(const Node& node, const GraphParts& parts, std::size_t channels) {
  if (node.inputs.size() < 3 || node.inputs[2].empty()) return std::vector<double>(channels, 0);
  const auto found = parts.initializers.find(node.inputs[2]);
  if (found == parts.initializers.end()) return std::nullopt;
  std::vector<double> bias = doubles_of(found->second);
  const Shape& shape = found->second.shape();
  if (bias.size() == 1) bias.resize(channels, bias[0]);
  if (bias.size() != channels || (shape.rank() == 2 && shape[0] != 1)) return std::nullopt;
  const double beta = node.op == "Gemm" ? node.float_or("beta", 1) : 1;
  for (double& one : bias) one *= beta;
  return bias;
}

// The node with the affine map put into its weights and bias, which are new initializers; nothing where it cannot be.
std::optional<Node> absorbed(Node node, const Node& norm, GraphParts& parts, ValueUses& uses) {
  const auto weights = parts.initializers.find(node.inputs[1]);
  const std::optional<Affine> affine = affine_of(norm, parts);
  if (weights == parts.initializers.end() || !affine) return std::nullopt;
  std::optional<std::vector<double>> bias = bias_of(node, parts, affine->factor.size());
  if (!bias) return std::nullopt;
  const Tensor& old = weights->second;
  const Channels channels = channels_of(node, old.shape());
  Tensor new_weights = old.clone();
  old.dtype() == DType::f64 ? scale(new_weights.as<double>(), channels, affine->factor)
                            : scale(new_weights.as<float>(), channels, affine->factor);
  for (std::size_t c = 0; c < bias->size(); ++c) (*bias)[c] = (*bias)[c] * affine->factor[c] + affine->offset[c];
  const Tensor new_bias = tensor_of(old.dtype(), Shape{static_cast<std::int64_t>(bias->size())}, *bias);
  node.inputs = {node.inputs[0], uses.unused_name(norm.name + ".weight"), uses.unused_name(norm.name + ".bias")};
  parts.initializers.emplace(node.inputs[1], new_weights);
  parts.initializers.emplace(node.inputs[2], new_bias);
  node.attributes.erase("beta");
  node.outputs = {norm.outputs[0]};
  return node;
}

bool may_absorb(const Node& node) {
  return node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm";
}

}  // namespace

Result<Rewrite> fold_batch_norm(const Graph& graph, const PassContext&) {
  Rewrite rewrite{graph.parts(), {}};
  ValueUses uses(graph.parts());
  std::vector<Node> kept;
  std::map<std::string, std::size_t> maker;  // value -> position in kept of the node that makes it
  for (const Node& node : graph.nodes()) {
    const auto before = node.op == "BatchNormalization" ? maker.find(node.inputs[0]) : maker.end();
    if (before != maker.end() && node.outputs.size() == 1 && uses.only_one(node.inputs[0]) &&
        may_absorb(kept[before->second])) {
      const std::size_t position = before->second;
      if (std::optional<Node> folded = absorbed(kept[position], node, rewrite.parts, uses)) {
        rewrite.notes.push_back(describe(node) + " is folded into " + describe(kept[position]));
        kept[position] = std::move(*folded);
        maker[node.outputs[0]] = position;
        continue;
      }
    }
    for (const std::string& output : node.outputs) maker[output] = kept.size();
    kept.push_back(node);
  }
  rewrite.parts.nodes = std::move(kept);
  return rewrite;
}

}  // namespace mangrove::passes_detail
