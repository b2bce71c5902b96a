#include "mangrove/zoo/new_head.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/split.h"
#include "mangrove/zoo/initializer.h"

namespace mangrove::zoo {
namespace {

constexpr float kDropout = 0.2f;

/// Over height and width of [N, C, H, W].
bool is_spatial_mean(const Graph& graph, const Node& node) {
  if (graph.value(node.inputs[0]).shape.rank() != 4) return false;
  if (node.op == "GlobalAveragePool") return true;
  if (node.op != "ReduceMean") return false;
  std::vector<std::int64_t> axes = node.ints_or("axes", {});
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + 4 : axis;
  std::ranges::sort(axes);
  return axes == std::vector<std::int64_t>{2, 3};
}

/// What the last node of this kind takes; nothing where there is none.
template <class IsWanted>
std::optional<std::string> taken_by_last(const Graph& network, IsWanted is_wanted) {
  const auto last = std::find_if(network.nodes().rbegin(), network.nodes().rend(), is_wanted);
  return last == network.nodes().rend() ? std::nullopt : std::optional(last->inputs[0]);
}

/// Whether the node multiplies features [N, C] with weights.
bool is_dense(const Graph& network, const Node& node) {
  return (node.op == "Gemm" || node.op == "MatMul") && network.initializers().contains(node.inputs[1]) &&
         network.value(node.inputs[0]).shape.rank() == 2 && network.value(node.inputs[0]).shape.batches() == 1;
}

/// Whether values are mixed by weights that a Softmax has computed.
bool has_attention(const Graph& network) {
  std::set<std::string> shares;
  for (const Node& node : network.nodes()) {
    if (node.op == "Softmax" || (node.op == "Dropout" && shares.contains(node.inputs[0])))
      shares.insert(node.outputs[0]);
    if (node.op == "MatMul" && shares.contains(node.inputs[0])) return true;
  }
  return false;
}

/// What the last global average pooling takes: before it in the network may be others, e.g. of squeeze-and-excitation.
/// A transformer may have none; its features are what its last dense layer takes.
Result<std::string> end_of_backbone(const Graph& network) {
  const auto map = taken_by_last(network, [&](const Node& node) { return is_spatial_mean(network, node); });
  if (map) return *map;
  const auto features = taken_by_last(network, [&](const Node& node) { return is_dense(network, node); });
  if (has_attention(network) && features) return *features;
  return make_error(Code::invalid_argument,
                    "it has no global average pooling (GlobalAveragePool, or ReduceMean over height and width), behind "
                    "which a new head could be put, and is no transformer (attention, and a dense layer at its end)");
}

/// The same for samples of this shape.
Result<Graph> backbone_for(const Graph& network, const Shape& sample) {
  if (network.inputs().size() != 1)
    return make_error(Code::invalid_argument,
                      "it has " + std::to_string(network.inputs().size()) + " inputs, expected one");
  MG_TRY(const std::string end, end_of_backbone(network));
  GraphParts parts = parts_before(network, end);
  parts.metadata.clear();  // they tell of other data
  if (parts.inputs.empty()) return make_error(Code::invalid_argument, "its pooling does not depend on its input");
  std::vector<std::int64_t> dims = {kBatch};
  dims.insert(dims.end(), sample.begin(), sample.end());
  const Shape before = std::exchange(parts.inputs[0].second.shape, Shape(std::move(dims)));
  return Graph::create(std::move(parts))
      .context("it is for samples " + to_string(before) + ", and does not take " + to_string(sample));
}

}  // namespace

Result<Graph> with_new_head(const Graph& network, const Shape& sample, std::int64_t classes, std::uint64_t seed) {
  const std::string what = "graph '" + network.name() + "'";
  MG_TRY(const Graph backbone, backbone_for(network, sample).context(what));
  const std::string features = backbone.outputs()[0];
  const Shape& shape = backbone.value(features).shape;
  const bool is_map = shape.rank() == 4;
  const std::int64_t channels = shape[1];
  Tensor weights(DType::f32, {classes, channels});
  Random random(seed);
  initialize(glorot_uniform(), {.in = channels, .out = classes}, random, weights.as<float>());

  GraphParts parts = backbone.parts();
  parts.outputs = {"head.logits"};
  parts.initializers.emplace("head.dropout.ratio", Tensor::of<float>(Shape{}, {kDropout}));
  parts.initializers.emplace("head.fc.weight", std::move(weights));
  parts.initializers.emplace("head.fc.bias", Tensor(DType::f32, {classes}));
  if (is_map) parts.nodes.push_back({"head.pool", "GlobalAveragePool", {}, {features}, {"head.pool.out"}});
  const std::vector<Node> head = {
      {kHeadFeatures, "Flatten", {}, {is_map ? "head.pool.out" : features}, {"head.features"}},
      {"head.dropout", "Dropout", {}, {"head.features", "head.dropout.ratio"}, {"head.dropout.out"}},
      {"head.fc",
       "Gemm",
       {{"transB", std::int64_t{1}}},
       {"head.dropout.out", "head.fc.weight", "head.fc.bias"},
       {"head.logits"}}};
  parts.nodes.insert(parts.nodes.end(), head.begin(), head.end());
  return Graph::create(std::move(parts)).context(what);
}

}  // namespace mangrove::zoo
