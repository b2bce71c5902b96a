#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/compress/factors.h"
#include "mangrove/compress/methods/rows.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::compress::rows {
namespace {

/// Writes the network anew, with layers that are products of smaller ones.
class LowRankRewriter {
 public:
  LowRankRewriter(const Graph& graph, double keep)
      : graph_(graph), keep_(keep), parts_(graph.parts()), uses_(graph.parts()) {
    parts_.nodes.clear();
    for (const Node& node : graph.nodes()) names_.insert(node.name);
  }

  /// How many layers became smaller is `changed`.
  Result<Graph> run(int& changed) {
    for (const Node& node : graph_.nodes()) {
      if (replace_product(node) || replace_convolution(node))
        ++changed;
      else
        parts_.nodes.push_back(node);
    }
    return Graph::create(std::move(parts_));
  }

 private:
  bool is_own_weights(const Node& node) const {
    const auto found = graph_.initializers().find(node.inputs[1]);
    return found != graph_.initializers().end() && found->second.dtype() == DType::f32 &&
           uses_.count(node.inputs[1]) == 1;
  }

  std::string add_weights(const std::string& stem, Tensor tensor) {
    std::string name = uses_.unused_name(stem);
    parts_.initializers.emplace(name, std::move(tensor));
    return name;
  }

  /// A node of the kind of `like`, which gives a new value.
  std::string append(const Node& like, const std::string& ending, std::map<std::string, Attribute> attributes,
                     std::vector<std::string> inputs) {
    std::string name = like.name + ending;
    while (!names_.insert(name).second) name += "_";
    std::string output = uses_.unused_name(like.outputs[0] + ending);
    parts_.nodes.push_back({.name = name,
                            .op = like.op,
                            .attributes = std::move(attributes),
                            .inputs = std::move(inputs),
                            .outputs = {output}});
    return output;
  }

  /// Y = X W + b as (X A) B + b, where that has fewer weights.
  bool replace_product(const Node& node) {
    if ((node.op != "Gemm" && node.op != "MatMul") || !is_own_weights(node)) return false;
    const Tensor& weights = graph_.initializers().at(node.inputs[1]);
    const bool is_transposed = node.op == "Gemm" && node.int_or("transB", 0) == 1;
    if (weights.shape().rank() != 2 || node.int_or("transA", 0) != 0) return false;
    const auto m = static_cast<double>(weights.shape()[0]), n = static_cast<double>(weights.shape()[1]);
    const auto rank = static_cast<std::int64_t>(keep_ * m * n / (m + n));
    if (rank < 1 || static_cast<double>(rank) >= std::min(m, n)) return false;
    MatrixFactors factors = factor_matrix(weights, rank);
    if (is_transposed) std::swap(factors.left, factors.right);  // what X meets first
    parts_.initializers.erase(node.inputs[1]);
    std::map<std::string, Attribute> first;
    if (is_transposed) first = {{"transB", std::int64_t{1}}};
    const std::string between =
        append(node, ".low", std::move(first), {node.inputs[0], add_weights(node.inputs[1] + ".low", factors.left)});
    Node last = node;
    last.inputs[0] = between;
    last.inputs[1] = add_weights(node.inputs[1] + ".high", factors.right);
    parts_.nodes.push_back(std::move(last));
    return true;
  }

  /// A convolution as three, where that has fewer weights: see factor_kernel().
  bool replace_convolution(const Node& node) {
    if (node.op != "Conv" || !is_own_weights(node) || node.int_or("group", 1) != 1) return false;
    const Tensor& kernel = graph_.initializers().at(node.inputs[1]);
    if (kernel.shape().rank() != 4 || kernel.shape()[2] * kernel.shape()[3] == 1) return false;
    const auto [out_rank, in_rank] = ranks_of(kernel.shape());
    if (out_rank < 1) return false;
    const KernelFactors factors = factor_kernel(kernel, out_rank, in_rank);
    parts_.initializers.erase(node.inputs[1]);
    const std::string narrow =
        append(node, ".in", {}, {node.inputs[0], add_weights(node.inputs[1] + ".in", factors.inputs)});
    std::map<std::string, Attribute> attributes = node.attributes;
    const std::string core =
        append(node, ".core", std::move(attributes), {narrow, add_weights(node.inputs[1] + ".core", factors.core)});
    Node last = node;
    last.attributes.clear();
    last.inputs[0] = core;
    last.inputs[1] = add_weights(node.inputs[1] + ".out", factors.outputs);
    parts_.nodes.push_back(std::move(last));
    return true;
  }

  /// Ranks that are the same share of both dimensions, the largest that keep so many weights; 0 where none do.
  std::pair<std::int64_t, std::int64_t> ranks_of(const Shape& shape) const {
    const std::int64_t outputs = shape[0], inputs = shape[1], places = shape[2] * shape[3];
    const double most = keep_ * static_cast<double>(shape.elements());
    for (std::int64_t out = outputs; out >= 1; --out) {
      const std::int64_t in = std::max<std::int64_t>(1, out * inputs / outputs);
      if (static_cast<double>(inputs * in + out * in * places + outputs * out) <= most) return {out, in};
    }
    return {0, 0};
  }

  const Graph& graph_;
  double keep_;
  GraphParts parts_;
  ValueUses uses_;
  std::set<std::string> names_;
};

class LowRank : public Method {
 public:
  Keys keys() override {
    Keys keys;
    keys.add("keep", keep_, "share of the weights of each layer that is kept at most", 1e-3, 1);
    tuning_.declare(keys);
    return keys;
  }

  Result<Network> run(Network network, std::int64_t round, const Workplace& workplace) const override {
    if (!network.constraints.empty())
      return make_error(Code::invalid_argument,
                        "layers are divided before weights are pruned or shared; put this step in front of theirs");
    int changed = 0;
    MG_TRY(network.graph, LowRankRewriter(network.graph, keep_).run(changed));
    if (changed == 0)
      return make_error(Code::invalid_argument, "no layer of this network becomes smaller by a product of low rank");
    return fine_tune(std::move(network), tuning_, workplace, static_cast<std::uint64_t>(round));
  }

 private:
  double keep_ = 0.5;
  FineTuning tuning_;
};

}  // namespace

MethodRow low_rank() {
  return {.name = "low_rank",
          .summary = "makes products of smaller layers of a layer, and trains on (Kim et al. 2016)",
          .gain = "low_rank makes the network itself smaller, and its file; it is faster where layers are large",
          .make = [] { return std::unique_ptr<Method>(std::make_unique<LowRank>()); }};
}

}  // namespace mangrove::compress::rows
