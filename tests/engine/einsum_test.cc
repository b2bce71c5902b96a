// Products of matrices that Einsum says become MatMul when a file is loaded; both must compute the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

#include "mangrove/graph/onnx.h"

namespace mangrove {
namespace {

struct LoweredEinsum {
  const char* name;
  std::string equation;
  Shape a, b;
  bool is_product = true;  // of matrices
};

Tensor einsum_result(const Graph& graph) {
  const auto execution = make_execution(graph, "portable", 2, false);
  for (const auto& [name, info] : graph.inputs())
    EXPECT_TRUE(execution->set_input(name, uniform_tensor(info.dtype, info.shape.with_batch(2), 3)).ok());
  execution->forward();
  return execution->output_tensor("y");
}

class EinsumOfTwo : public ::testing::TestWithParam<LoweredEinsum> {};

TEST_P(EinsumOfTwo, ComputesTheSameAsMatMul) {
  const LoweredEinsum& test = GetParam();
  const Graph graph = GraphSketch(DType::f64)
                          .input("a", test.a)
                          .input("b", test.b)
                          .node("Einsum", {"a", "b"}, "y", {{"equation", test.equation}})
                          .create({"y"});
  const auto loaded = parse_onnx(encode_onnx(graph));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto is_einsum = [](const Node& node) { return node.op == "Einsum"; };
  EXPECT_NE(std::ranges::any_of(loaded->nodes(), is_einsum), test.is_product);
  const Tensor expected = einsum_result(graph), found = einsum_result(*loaded);
  ASSERT_EQ(found.shape(), expected.shape());
  for (std::size_t i = 0; i < expected.as<double>().size(); ++i)
    EXPECT_NEAR(found.as<double>()[i], expected.as<double>()[i], 1e-12) << i;
}

const LoweredEinsum kLoweredEinsums[] = {
    {"Attention", "bhid,bhjd->bhij", {kBatch, 2, 5, 3}, {kBatch, 2, 4, 3}},
    {"AttentionHeadsInside", "bihd,bjhd->bhij", {kBatch, 5, 2, 3}, {kBatch, 4, 2, 3}},
    {"WeightedValues", "bhij,bjhd->bihd", {kBatch, 2, 5, 4}, {kBatch, 4, 2, 3}},
    {"Linear", "bijc,cd->bijd", {kBatch, 2, 5, 3}, {3, 4}},
    {"LinearFromTheLeft", "dc,bijc->bdij", {4, 3}, {kBatch, 2, 5, 3}},
    {"Ellipsis", "...ij,...jk->...ki", {kBatch, 2, 3}, {kBatch, 3, 4}},
    {"RelativePositions", "bhwd,hkd->bhwk", {kBatch, 3, 4, 2}, {3, 5, 2}, false},
    {"Outer", "bi,bj->bij", {kBatch, 3}, {kBatch, 4}, false},
    {"SumOfOne", "bic,jc->bj", {kBatch, 2, 3}, {4, 3}, false},
};

INSTANTIATE_TEST_SUITE_P(Equations, EinsumOfTwo, ::testing::ValuesIn(kLoweredEinsums),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace mangrove
