// Shapes of operators whose indices name elements, and of Einsum; and what they refuse.
#include <gtest/gtest.h>

#include <limits>

#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using Attributes = std::map<std::string, Attribute>;

struct IndexingCase {
  const char* name;
  const char* op;
  std::vector<Shape> inputs;
  Attributes attributes;
  std::map<std::size_t, Tensor> constants;
  Shape expected;            // where it fits
  const char* message = "";  // where it does not: a part of the error
};

Tensor indices(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(shape, values);
}

Attributes equation(const char* text) {
  return {{"equation", std::string(text)}};
}

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

class IndexingRule : public ::testing::TestWithParam<IndexingCase> {};

TEST_P(IndexingRule, GivesTheShapeOrTheReason) {
  const IndexingCase& c = GetParam();
  const auto shape = testing::infer_one(testing::make_node("", c.op, {}, {}, c.attributes), c.inputs, c.constants);
  if (*c.message == '\0') {
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    EXPECT_EQ(to_string(*shape), to_string(c.expected));
  } else {
    ASSERT_FALSE(shape.ok()) << to_string(*shape);
    EXPECT_NE(shape.error().message.find(c.message), std::string::npos) << shape.error().message;
  }
}

const std::int64_t kFirst = 1;

const IndexingCase kIndexingCases[] = {
    {"GatherElements",
     "GatherElements",
     {{3, 4}, {2, 4}},
     {},
     {{1, indices({2, 4}, {0, 1, 2, -3, 0, 0, 0, 0})}},
     {2, 4}},
    {"GatherElementsOutside",
     "GatherElements",
     {{3, 4}, {1, 1}},
     {},
     {{1, indices({1, 1}, {3})}},
     {},
     "index 3 is outside dimension 0 of data [3, 4]"},
    {"GatherElementsFarOutside",
     "GatherElements",
     {{3, 4}, {1, 1}},
     {},
     {{1, indices({1, 1}, {-kFar})}},
     {},
     "is outside dimension 0"},
    {"GatherElementsWide",
     "GatherElements",
     {{3, 4}, {3, 5}},
     {},
     {{1, indices({3, 5}, std::vector<std::int64_t>(15))}},
     {},
     "dimension 1 of the indices is larger"},
    {"GatherElementsRank",
     "GatherElements",
     {{3, 4}, {2}},
     {},
     {{1, indices({2}, {0, 0})}},
     {},
     "expected two of the same rank"},
    {"GatherElementsBatch", "GatherElements", {{kBatch, 4}, {kBatch, 4}}, {}, {}, {}, "have type f32"},
    {"GatherNDSlices", "GatherND", {{3, 4, 5}, {2, 1}}, {}, {{1, indices({2, 1}, {2, -3})}}, {2, 4, 5}},
    {"GatherNDOutside",
     "GatherND",
     {{3, 4}, {1, 2}},
     {},
     {{1, indices({1, 2}, {2, 4})}},
     {},
     "index 4 is outside dimension 1"},
    {"GatherNDLong",
     "GatherND",
     {{3, 4}, {1, 3}},
     {},
     {{1, indices({1, 3}, {0, 0, 0})}},
     {},
     "expected at most as many"},
    {"GatherNDBatchDims",
     "GatherND",
     {{3, 4}, {1, 2}},
     {{"batch_dims", std::int64_t{2}}},
     {{1, indices({1, 2}, {0, 0})}},
     {},
     "attribute batch_dims is 2"},
    {"GatherNDOtherBatchDims",
     "GatherND",
     {{3, 4}, {2, 1}},
     {{"batch_dims", kFirst}},
     {{1, indices({2, 1}, {0, 0})}},
     {},
     "differ in dimension 0"},
    {"GatherNDOfTheBatch",
     "GatherND",
     {{kBatch, 4}, {2, 1}},
     {},
     {{1, indices({2, 1}, {0, 0})}},
     {},
     "indices are of the batch"},
    {"GatherNDOfSeveralBatches",
     "GatherND",
     {{2 * kBatch, 4}, {2, 1}},
     {},
     {{1, indices({2, 1}, {0, 0})}},
     {},
     "indices are of the batch"},
    {"EyeLikeOfTheBatch", "EyeLike", {{kBatch, 3}}, {}, {}, {}, "its place in the batch"},
    {"NonZeroOfTooMany",
     "NonZero",
     {{1, 1, 1, (1 << 22) + 1}},
     {},
     {{0, Tensor::of<std::uint8_t>({1, 1, 1, (1 << 22) + 1}, std::vector<std::uint8_t>((1 << 22) + 1, 1))}},
     {},
     "has more than 4194304 elements"},
    {"ScatterND", "ScatterND", {{4, 3}, {2, 1}, {2, 3}}, {}, {{1, indices({2, 1}, {0, -4})}}, {4, 3}},
    {"ScatterNDUpdates",
     "ScatterND",
     {{4, 3}, {2, 1}, {2, 2}},
     {},
     {{1, indices({2, 1}, {0, 1})}},
     {},
     "updates (input 2) are f32 [2, 2], expected f32 [2, 3]"},
    {"ScatterNDReduction",
     "ScatterND",
     {{4, 3}, {2, 1}, {2, 3}},
     {{"reduction", std::string("mean")}},
     {{1, indices({2, 1}, {0, 1})}},
     {},
     "attribute reduction is 'mean'"},
    {"OneHot", "OneHot", {{2, 3}, {}, {2}}, {{"axis", kFirst}}, {{1, indices({}, {7})}}, {2, 7, 3}},
    {"OneHotDepth", "OneHot", {{2, 3}, {}, {2}}, {}, {{1, indices({1}, {-1})}}, {}, "depth (input 1) is -1"},
    {"OneHotOfHugeDepth", "OneHot", {{2, 3}, {}, {2}}, {}, {{1, indices({1}, {kFar})}}, {}, "less than 2^31"},
    {"TileHuge", "Tile", {{2, 3}, {2}}, {}, {{1, indices({2}, {1, kFar})}}, {}, "cannot be repeated"},
    {"TileManyPlaces", "Tile", {{2, 1}, {2}}, {}, {{1, indices({2}, {1, 1 << 25})}}, {}, "at most 16777216 places"},
    {"TileOfTheBatch", "Tile", {{kBatch, 3}, {2}}, {}, {{1, indices({2}, {2, 1})}}, {}, "the batch of input"},
    {"TriluOfAVector", "Trilu", {{3}}, {}, {}, {}, "expected [..., H, W]"},
    {"CumSumOfTheBatch", "CumSum", {{kBatch, 3}, {}}, {}, {{1, indices({}, {0})}}, {}, "is the symbolic batch"},
    {"Einsum", "Einsum", {{kBatch, 2, 3}, {4, 3}}, equation("bij,kj->bki"), {}, {kBatch, 4, 2}},
    {"EinsumEllipsis",
     "Einsum",
     {{kBatch, 2, 3}, {2, 3, 5}},
     equation("...ij,...jk->...ik"),
     {},
     {},
     "does not fit attribute equation"},
    {"EinsumDiagonal", "Einsum", {{3, 3}}, equation("ii->i"), {}, {}, "a letter is twice in 'ii'"},
    {"EinsumRank", "Einsum", {{3, 3}}, equation("ijk->i"), {}, {}, "it has 2 dimensions"},
    {"EinsumSizes", "Einsum", {{3, 4}, {5, 4}}, equation("ij,ij"), {}, {}, "meets one of size 3"},
    {"EinsumOperands", "Einsum", {{3, 4}}, equation("ij,jk"), {}, {}, "which has 2 operands, but 1 are given"},
    {"EinsumResult", "Einsum", {{3, 4}}, equation("ij->k"), {}, {}, "no operand has 'k'"},
    {"EinsumNonsense", "Einsum", {{3, 4}}, equation("i.j->"), {}, {}, "expected letters"},
    {"EinsumNothing", "Einsum", {{3, 4}}, {}, {}, {}, "it has 2 dimensions"},
};

INSTANTIATE_TEST_SUITE_P(Cases, IndexingRule, ::testing::ValuesIn(kIndexingCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ScatteringRule, AllSamplesDoNotGoIntoOneValue) {
  GraphParts parts;
  parts.inputs = {{"x", {DType::f32, {5, 4}}}, {"rows", {DType::i64, {kBatch, 1}}}, {"u", {DType::f32, {kBatch, 4}}}};
  parts.nodes = {testing::make_node("scatter", "ScatterND", {"x", "rows", "u"}, {"y"})};
  parts.outputs = {"y"};
  const auto graph = Graph::create(std::move(parts));
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("would go into one data"), std::string::npos) << graph.error().message;
}

}  // namespace
}  // namespace mangrove
