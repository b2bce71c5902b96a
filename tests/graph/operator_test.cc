#include "mangrove/graph/operator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/conv_geometry.h"
#include "mangrove/graph/gemm_geometry.h"
#include "mangrove/graph/pool_geometry.h"

namespace mangrove {
namespace {

TEST(OperatorTable, IsSortedAndEveryRowIsFoundAndWhole) {
  const auto table = operators();
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.type < b.type; }));
  for (const Operator& row : table) {
    EXPECT_EQ(find_operator(row.type), &row);
    EXPECT_TRUE(row.infer && row.cost) << row.type;
    EXPECT_LE(row.min_inputs, row.max_inputs) << row.type;
    EXPECT_LE(row.min_outputs, row.max_outputs) << row.type;
    for (const std::size_t position : row.parameters) EXPECT_LT(position, row.max_inputs) << row.type;
    EXPECT_TRUE(!row.activation || (row.max_inputs == 1 && row.max_outputs == 1)) << row.type;
  }
  EXPECT_EQ(find_operator("conv"), nullptr);
  EXPECT_EQ(find_operator("Zzz"), nullptr);
  EXPECT_EQ(find_operator(""), nullptr);
}

TEST(NodeCost, CountsFlopsAndBytesAtTheBatch) {
  const Graph graph = Graph::create(testing::small_network()).value();
  const OperatorCost conv = node_cost(graph, graph.nodes()[0], 3);
  EXPECT_EQ(conv.flops, 3 * 2.0 * (4 * 8 * 8) * (2 * 9));
  EXPECT_EQ(conv.parameters, 4 * (4 * 2 * 9 + 4));
  EXPECT_EQ(conv.read, 3 * 4 * (2 * 8 * 8) + conv.parameters);
  EXPECT_EQ(conv.written, 3 * 4 * (4 * 8 * 8));
  const OperatorCost pool = node_cost(graph, graph.nodes()[2], 1);
  EXPECT_EQ(pool.flops, 4.0 * 4 * 4 * 4);
  EXPECT_EQ(pool.parameters, 0);
  const OperatorCost reshape = node_cost(graph, graph.nodes()[3], 1);
  EXPECT_EQ(reshape.flops, 0);
  EXPECT_EQ(reshape.parameters, 0);
  const OperatorCost gemm = node_cost(graph, graph.nodes()[4], 2);
  EXPECT_EQ(gemm.flops, 2 * 2.0 * 64 * 5);
  EXPECT_EQ(gemm.parameters, 4 * (64 * 5 + 5));
}

TEST(ConvGeometry, ResolvesPaddingAsOnnxSays) {
  const Node upper = testing::make_node("n", "Conv", {}, {}, {{"auto_pad", std::string("SAME_UPPER")}});
  const Node lower = testing::make_node("n", "Conv", {}, {}, {{"auto_pad", std::string("SAME_LOWER")}});
  const Shape input{kBatch, 4, 7, 8};
  const Shape weights{6, 4, 2, 3};
  const ConvGeometry at_end = conv_geometry(upper, input, weights).value();
  EXPECT_EQ(at_end.window.pads_begin, (std::array<std::int64_t, 2>{0, 1}));
  EXPECT_EQ(at_end.window.pads_end, (std::array<std::int64_t, 2>{1, 1}));
  const ConvGeometry at_begin = conv_geometry(lower, input, weights).value();
  EXPECT_EQ(at_begin.window.pads_begin, (std::array<std::int64_t, 2>{1, 1}));
  EXPECT_EQ(at_begin.window.pads_end, (std::array<std::int64_t, 2>{0, 1}));
  EXPECT_EQ(at_end.output_shape(), (Shape{kBatch, 6, 7, 8}));
  EXPECT_EQ(at_end.input_channels_per_group(), 4);
}

TEST(PoolGeometry, GlobalPoolIsOneWindowOverTheImage) {
  const PoolGeometry geometry =
      pool_geometry(testing::make_node("n", "GlobalAveragePool", {}, {}), {5, 3, 6, 4}).value();
  EXPECT_EQ(geometry.window.taps(), 24);
  EXPECT_EQ(geometry.output, (Shape{5, 3, 1, 1}));
}

TEST(GemmGeometry, ReadsSizesThroughTransposition) {
  const Node node = testing::make_node("n", "Gemm", {}, {},
                                       {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}, {"beta", 0.25f}});
  const GemmGeometry geometry = gemm_geometry(node, {4, 2}, {3, 4}).value();
  EXPECT_EQ(geometry.m, 2);
  EXPECT_EQ(geometry.n, 3);
  EXPECT_EQ(geometry.k, 4);
  EXPECT_EQ(geometry.beta, 0.25f);
  EXPECT_EQ(geometry.alpha, 1.0f);
}

}  // namespace
}  // namespace mangrove
