#include "mangrove/graph/fold_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/graph/small_graphs.h"

#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;
using testing::make_node;

Tensor vector_of(const Ints& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

Tensor scalar_of(std::int64_t value) {
  return Tensor::of<std::int64_t>(Shape{}, {value});
}

/// A file's parts: nodes are named "OUTPUT!".
class File {
 public:
  File& input(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
    parts_.inputs.emplace_back(name, ValueInfo{dtype, shape});
    return *this;
  }
  File& constant(const std::string& name, Tensor value) {
    parts_.initializers.emplace(name, std::move(value));
    return *this;
  }
  File& node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
             Attributes attributes = {}) {
    parts_.nodes.push_back(make_node(output + "!", op, std::move(inputs), {output}, std::move(attributes)));
    return *this;
  }
  Result<Graph> load(const std::string& output) {
    parts_.outputs = {output};
    MG_TRY(GraphParts folded, fold_shapes(parts_, {}));
    return Graph::create(std::move(folded));
  }

 private:
  GraphParts parts_;
};

Ints integers(const Graph& graph, const std::string& name) {
  const auto values = graph.initializers().at(name).as<std::int64_t>();
  return {values.begin(), values.end()};
}

TEST(FoldShapes, ACastToSixteenBitsRounds) {
  const auto graph = File()
                         .input("x", {2049, 3})
                         .input("y", {2048 * 3})
                         .node("Shape", {"x"}, "shape")
                         .node("Cast", {"shape"}, "narrow", {{"to", std::int64_t{10}}})
                         .node("Cast", {"narrow"}, "target", {{"to", std::int64_t{7}}})
                         .node("Reshape", {"y", "target"}, "z")
                         .load("z");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("z").shape, (Shape{2048, 3})) << "no float16 is 2049";
}

TEST(FoldShapes, ARemainderWithTheSignOfTheDividendIsLeftToTheKernel) {
  const auto graph = File()
                         .constant("a", vector_of({-7}))
                         .constant("b", vector_of({3}))
                         .node("Mod", {"a", "b"}, "rest", {{"fmod", std::int64_t{1}}})
                         .load("rest");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(graph->nodes()[0].op, "Mod");
}

// x.view(x.size(0), -1), as PyTorch writes it.
TEST(FoldShapes, BatchTakenFromAShapeBecomesZeroInAReshape) {
  const auto graph = File()
                         .input("x", {kBatch, 3, 4})
                         .constant("zero", scalar_of(0))
                         .constant("axis", vector_of({0}))
                         .constant("rest", vector_of({-1}))
                         .node("Shape", {"x"}, "shape")
                         .node("Gather", {"shape", "zero"}, "size")
                         .node("Unsqueeze", {"size", "axis"}, "batch")
                         .node("Concat", {"batch", "rest"}, "target", {{"axis", std::int64_t{0}}})
                         .node("Reshape", {"x", "target"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(integers(*graph, graph->nodes()[0].inputs[1]), (Ints{0, -1}));
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 12}));
  EXPECT_EQ(graph->initializers().size(), 1u) << "what only the computation used is gone";
}

// The samples' heads side by side and back, as PyTorch's attention writes it.
TEST(FoldShapes, TheBatchTimesTheHeadsIsDividedAgain) {
  const auto graph = File()
                         .input("x", {kBatch, 3, 8})
                         .constant("zero", scalar_of(0))
                         .constant("heads", scalar_of(4))
                         .constant("axis", vector_of({0}))
                         .constant("rest", vector_of({3, 2}))
                         .constant("apart", vector_of({4, 3, 2}))
                         .node("Shape", {"x"}, "shape")
                         .node("Gather", {"shape", "zero"}, "size")
                         .node("Mul", {"size", "heads"}, "all")
                         .node("Unsqueeze", {"all", "axis"}, "all_heads")
                         .node("Concat", {"all_heads", "rest"}, "target", {{"axis", std::int64_t{0}}})
                         .node("Reshape", {"x", "target"}, "merged")
                         .node("Div", {"all", "heads"}, "samples")
                         .node("Unsqueeze", {"samples", "axis"}, "batch")
                         .node("Concat", {"batch", "apart"}, "back", {{"axis", std::int64_t{0}}})
                         .node("Reshape", {"merged", "back"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("merged").shape, (Shape{-4, 3, 2}));
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 4, 3, 2}));
}

// The whole graph: y = Reshape(x, the value computed from the shape of s), which must be `expected`.
struct Computation {
  const char* name;
  std::function<void(File&)> nodes;  // from "shape", the sizes [6, 4] of s, to "target"
  Ints expected;
};

const Attributes kToReal{{"to", std::int64_t{1}}}, kToInteger{{"to", std::int64_t{7}}};

const Computation kComputations[] = {
    {"Products",
     [](File& f) {
       f.constant("k", vector_of({2, 1})).node("Mul", {"shape", "k"}, "target");
     },
     {12, 4}},
    {"DivisionIsTowardsZero",
     [](File& f) {
       f.constant("k", vector_of({-4, 3})).node("Div", {"shape", "k"}, "target");
     },
     {-1, 1}},
    {"Remainder",
     [](File& f) {
       f.constant("k", vector_of({-4, 3})).node("Mod", {"shape", "k"}, "target");
     },
     {-2, 1}},
    {"FloorOfReals",
     [](File& f) {
       f.constant("k", Tensor::of<float>(Shape{}, {1.5f}))
           .node("Cast", {"shape"}, "real", kToReal)
           .node("Mul", {"real", "k"}, "scaled")
           .node("Floor", {"scaled"}, "down")
           .node("Cast", {"down"}, "target", kToInteger);
     },
     {9, 6}},
    {"CeilOfReals",
     [](File& f) {
       f.constant("k", Tensor::of<float>(Shape{}, {4.0f}))
           .node("Cast", {"shape"}, "real", kToReal)
           .node("Div", {"real", "k"}, "scaled")
           .node("Ceil", {"scaled"}, "up")
           .node("Cast", {"up"}, "target", kToInteger);
     },
     {2, 1}},
    {"Choice",
     [](File& f) {
       f.constant("six", scalar_of(6))
           .constant("other", vector_of({24}))
           .node("Equal", {"shape", "six"}, "is_six")
           .node("Where", {"is_six", "other", "shape"}, "target");
     },
     {24, 4}},
    {"Extremes",
     [](File& f) {
       f.constant("five", scalar_of(5)).node("Max", {"shape", "five"}, "most").node("Min", {"most", "shape"}, "target");
     },
     {6, 4}},
    {"ReversedSlice",
     [](File& f) {
       f.constant("start", vector_of({-1}))
           .constant("end", vector_of({std::numeric_limits<std::int64_t>::min()}))
           .constant("axis", vector_of({0}))
           .node("Slice", {"shape", "start", "end", "axis", "start"}, "target");
     },
     {4, 6}},
    {"ProductOfAll", [](File& f) { f.node("ReduceProd", {"shape"}, "target"); }, {24}},
    {"RangeOfScalars",
     [](File& f) {
       f.constant("one", scalar_of(1))
           .constant("four", scalar_of(5))
           .constant("two", scalar_of(2))
           .node("Range", {"one", "four", "two"}, "target");
     },
     {1, 3}},
    {"MatrixTransposed",
     [](File& f) {
       f.constant("rows", vector_of({2, -1}))
           .constant("flat", vector_of({-1}))
           .node("Concat", {"shape", "shape"}, "twice", {{"axis", std::int64_t{0}}})
           .node("Reshape", {"twice", "rows"}, "matrix")
           .node("Transpose", {"matrix"}, "turned")
           .node("Reshape", {"turned", "flat"}, "target");
     },
     {6, 6, 4, 4}},
    {"FilledAndExpanded",
     [](File& f) {
       f.constant("count", vector_of({2}))
           .node("ConstantOfShape", {"count"}, "fill", {{"value", vector_of({3})}})
           .node("Identity", {"fill"}, "target");
     },
     {3, 3}},
    {"SizeOfAll",
     [](File& f) {
       f.constant("axis", vector_of({0})).node("Size", {"s"}, "size").node("Unsqueeze", {"size", "axis"}, "target");
     },
     {24}},
    {"OneSizeOnly",
     [](File& f) {
       f.node("Shape", {"s"}, "target", {{"start", std::int64_t{-1}}});
     },
     {4}},
};

class FoldedValue : public ::testing::TestWithParam<Computation> {};

// A graph output cannot be folded away, so the value is seen as the operand of an Add with data.
TEST_P(FoldedValue, IsWhatTheOperatorsDefine) {
  File file;
  file.input("s", {6, 4}).input("x", {1}, DType::i64).node("Shape", {"s"}, "shape");
  GetParam().nodes(file);
  const auto graph = file.node("Add", {"x", "target"}, "y").load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(integers(*graph, "target"), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Computations, FoldedValue, ::testing::ValuesIn(kComputations),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(FoldShapes, FillOverTheBatchBecomesANodeWithItsShape) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .node("Shape", {"x"}, "shape")
                         .node("ConstantOfShape", {"shape"}, "ones", {{"value", Tensor::of<float>(Shape{1}, {1.0f})}})
                         .node("Add", {"x", "ones"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->nodes()[0].op, "ConstantOfShape");
  EXPECT_EQ(integers(*graph, graph->nodes()[0].inputs[0]), (Ints{kBatch, 3}));
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 3}));
}

// The zero states of an LSTM of several layers, one of which each node takes.
TEST(FoldShapes, PartOfAFillOverTheBatchIsKnown) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .constant("layers", vector_of({4}))
                         .constant("one", vector_of({1}))
                         .constant("three", vector_of({3}))
                         .constant("zero", vector_of({0}))
                         .node("Shape", {"x"}, "shape")
                         .node("Concat", {"layers", "shape"}, "sizes", {{"axis", std::int64_t{0}}})
                         .node("ConstantOfShape", {"sizes"}, "zeros")
                         .node("Slice", {"zeros", "one", "three", "zero"}, "part")
                         .node("Add", {"x", "part"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->value("part").shape, (Shape{2, kBatch, 3}));
}

TEST(FoldShapes, SliceUpToTheBatchReachesItsEnd) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .constant("zero", vector_of({0}))
                         .constant("one", vector_of({1}))
                         .node("Shape", {"x"}, "shape")
                         .node("Slice", {"shape", "zero", "one"}, "batch")
                         .node("Slice", {"x", "zero", "batch", "zero"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 3}));
}

TEST(FoldShapes, ComparisonsOfTheBatchWithMinusOneAreKnown) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .constant("keep", vector_of({-1, -1}))
                         .constant("ones", vector_of({1, 1}))
                         .node("Shape", {"x"}, "shape")
                         .node("Equal", {"shape", "keep"}, "kept")
                         .node("Where", {"kept", "ones", "shape"}, "target")
                         .node("Reshape", {"x", "target"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->value("y").shape, (Shape{kBatch, 3}));
}

// A batch holds at least one sample, so as a condition it is true.
TEST(FoldShapes, BatchAsAConditionIsTrue) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .constant("no", vector_of({-1, -1}))
                         .constant("yes", vector_of({0, 3}))
                         .node("Shape", {"x"}, "shape")
                         .node("Cast", {"shape"}, "conditions", {{"to", std::int64_t{9}}})
                         .node("Where", {"conditions", "yes", "no"}, "target")
                         .node("Reshape", {"x", "target"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(integers(*graph, graph->nodes()[0].inputs[1]), (Ints{0, 3}));
}

TEST(FoldShapes, SharedWeightsAreReadThroughIdentity) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .constant("w", Tensor(DType::f32, {3}))
                         .node("Identity", {"w"}, "alias")
                         .node("Add", {"x", "alias"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes().size(), 1u);
  EXPECT_EQ(graph->parameters(), std::vector<std::string>{"w"});
}

TEST(FoldShapes, WeightsAreNotComputedWith) {
  const auto graph = File()
                         .input("x", {kBatch, 3})
                         .constant("v", Tensor(DType::f32, {3}))
                         .constant("w", Tensor(DType::f32, {3}))
                         .node("Add", {"v", "w"}, "sum")
                         .node("Add", {"x", "sum"}, "y")
                         .load("y");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->parameters().size(), 2u);
}

struct Dynamic {
  const char* name;
  std::function<void(File&)> nodes;  // from "x" [N, 6] and "t" [2] to "y"
  const char* message;
};

const Dynamic kDynamic[] = {
    {"ShapeFromData",
     [](File& f) {
       f.node("Reshape", {"x", "t"}, "y");
     },
     "node 'y!' (Reshape): input 1 ('t') must be known when the model is loaded, but depends on the data of 't'"},
    {"ShapeFromComputedData",
     [](File& f) {
       f.node("Add", {"t", "t"}, "u").node("Reshape", {"x", "u"}, "y");
     },
     "node 'y!' (Reshape): input 1 ('u') must be known when the model is loaded, but depends on the data of 't'"},
    {"ArithmeticOnTheBatch",
     [](File& f) {
       f.constant("two", vector_of({2, 1}))
           .node("Shape", {"x"}, "s")
           .node("Add", {"s", "two"}, "u")
           .node("Reshape", {"x", "u"}, "y");
     },
     "node 'u!' (Add): arithmetic on the batch N: N + 2; it may only be multiplied by whole numbers, and divided where "
     "nothing remains; a fixed batch can be computed with: give the input's shape with a number for N (--input-shape)"},
    {"BatchTimesItself",
     [](File& f) {
       f.node("Shape", {"x"}, "s").node("Mul", {"s", "s"}, "u").node("Reshape", {"x", "u"}, "y");
     },
     "node 'u!' (Mul): arithmetic on the batch N: N * N; it may only"},
    {"HalfABatch",
     [](File& f) {
       f.constant("two", vector_of({2, 1}))
           .node("Shape", {"x"}, "s")
           .node("Div", {"s", "two"}, "u")
           .node("Reshape", {"x", "u"}, "y");
     },
     "node 'u!' (Div): arithmetic on the batch N: N / 2; it may only"},
    {"SizeBelowTheBatch",
     [](File& f) {
       f.constant("sizes", vector_of({-2, 6})).node("Expand", {"x", "sizes"}, "y");
     },
     "node 'y!' (Expand): size -2 in input 1 ('sizes')"},
    {"IndexOutside",
     [](File& f) {
       f.constant("seven", vector_of({7}))
           .node("Shape", {"x"}, "s")
           .node("Gather", {"s", "seven"}, "u")
           .node("Reshape", {"x", "u"}, "y");
     },
     "node 'u!' (Gather): index 7 into 2 values"},
    {"BatchAsANumber",
     [](File& f) {
       f.node("Shape", {"x"}, "s").node("Add", {"t", "s"}, "y");
     },
     "node 'y!' (Add): input 1 ('s') must be known when the model is loaded, but depends on the batch"},
    {"UnknownOperator",
     [](File& f) {
       f.node("Convv", {"x", "t"}, "y");
     },
     "node 'y!': operator 'Convv' is not supported; did you mean 'Conv'?"},
};

class DynamicValue : public ::testing::TestWithParam<Dynamic> {};

TEST_P(DynamicValue, IsNamedWithItsReason) {
  File file;
  file.input("x", {kBatch, 6}).input("t", {2}, DType::i64);
  GetParam().nodes(file);
  const auto graph = file.load("y");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.code(), Code::unimplemented);
  EXPECT_NE(graph.error().message.find(GetParam().message), std::string::npos) << graph.error().message;
}

INSTANTIATE_TEST_SUITE_P(Cases, DynamicValue, ::testing::ValuesIn(kDynamic),
                         [](const auto& test) { return std::string(test.param.name); });

// Values that a hostile file would compute: none may overflow, hang or take much memory.
TEST(FoldShapes, HostileValuesEndInErrors) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t a : {least, std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, most}) {
    for (const std::int64_t b : {least, std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, most}) {
      for (const char* op : {"Add", "Sub", "Mul", "Div", "Mod"}) {
        File file;
        file.input("x", {kBatch, 6}).constant("a", vector_of({a})).constant("b", vector_of({b}));
        EXPECT_FALSE(file.node(op, {"a", "b"}, "c")
                         .node("ConstantOfShape", {"c"}, "z")
                         .node("Reshape", {"x", "z"}, "y")
                         .load("y")
                         .ok());
      }
      File file;
      file.input("x", {2}, DType::i64).constant("a", scalar_of(a)).constant("b", scalar_of(b));
      const auto range = file.node("Range", {"a", "b", "b"}, "c").node("Add", {"x", "c"}, "y").load("y");
      EXPECT_TRUE(range.ok() || !range.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace mangrove
