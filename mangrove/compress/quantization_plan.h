#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::compress {

struct QuantizeOptions {
  std::set<std::string> skip = {};  // nodes, by name, and operators ("Gemm") that stay float
};

/// Which nodes of a float graph will compute on bytes, and which values become bytes.
///
/// Products (Conv, Gemm, MatMul with constant weights) do; so do additions, average poolings and nodes that only move
/// or select elements (MaxPool, Flatten, Concat ...) between them. A value becomes bytes where one of these nodes reads
/// it, with one exception: the result of a product that only an addition reads is added as it is, so that a kernel can
/// compute the product, the residual addition and the activation in one go. Of two such products the later one.
struct QuantizationPlan {
  std::set<std::string> nodes;      // that read bytes, by name
  std::vector<std::string> layers;  // the products among them, in node order
  struct Kept {
    std::string node, op, why;
  };
  std::vector<Kept> kept;  // nodes with weights that stay float, in node order

  /// Values that become bytes, and which scale each has: nodes that move or select keep the scale of their inputs.
  std::map<std::string, std::size_t> scale_of;
  /// For each scale, the values whose range decides it.
  std::vector<std::vector<std::string>> sources;

  /// All sources: what has to be calibrated.
  std::vector<std::string> observed() const;
};

/// `graph` is one for inference: batch normalization is best folded away, see engine/optimize.h.
/// errors: failed_precondition (the graph is quantized already; there is nothing to quantize, with the reasons),
/// invalid_argument (no node or operator is called as one of `skip`).
Result<QuantizationPlan> plan_quantization(const Graph& graph, const QuantizeOptions& options);

}  // namespace mangrove::compress
