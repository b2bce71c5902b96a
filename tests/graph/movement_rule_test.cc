// Shapes of operators that move elements about, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/graph/ints.h"
#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using testing::ints;
using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;
using Constants = std::map<std::size_t, Tensor>;

struct MovementCase {
  const char* name;
  const char* op;
  std::vector<Shape> inputs;
  Attributes attributes;
  Constants constants;
  Shape expected;            // where it fits
  const char* message = "";  // where it does not: a part of the error
};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Tensor reals(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

Attributes axis(std::int64_t value) {
  return {{"axis", value}};
}

Constants range(const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
  return {{1, ints(starts)}, {2, ints(ends)}, {3, ints(axes)}, {4, ints(steps)}};
}

Attributes mode(const char* value) {
  return {{"mode", std::string(value)}};
}

class MovementRule : public ::testing::TestWithParam<MovementCase> {};

TEST_P(MovementRule, GivesTheShapeOrTheReason) {
  const MovementCase& c = GetParam();
  const auto shape = testing::infer_one(testing::make_node("", c.op, {}, {}, c.attributes), c.inputs, c.constants);
  if (*c.message == '\0') {
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    EXPECT_EQ(to_string(*shape), to_string(c.expected));
  } else {
    ASSERT_FALSE(shape.ok()) << to_string(*shape);
    EXPECT_NE(shape.error().message.find(c.message), std::string::npos) << shape.error().message;
    EXPECT_EQ(shape.error().message.find("node 'n'"), 0u) << shape.error().message;
  }
}

const MovementCase kJoin[] = {
    {"Concat", "Concat", {{kBatch, 3, 4}, {kBatch, 5, 4}}, axis(-2), {}, {kBatch, 8, 4}},
    {"ConcatBatchInside", "Concat", {{3, kBatch}, {4, kBatch}}, axis(0), {}, {7, kBatch}},
    {"ConcatAlongBatch", "Concat", {{kBatch, 3}, {kBatch, 3}}, axis(0), {}, {}, "joined along its batch"},
    {"ConcatMisfit", "Concat", {{2, 3}, {3, 3}}, axis(1), {}, {}, "input 1 is f32 [3, 3], which does not join to"},
    {"ConcatOtherRank", "Concat", {{2, 3}, {2, 3, 1}}, axis(1), {}, {}, "does not join"},
    {"ConcatNoAxis", "Concat", {{2, 3}, {2, 3}}, {}, {}, {}, "attribute axis is missing"},
    {"ConcatAxisOutside", "Concat", {{2, 3}, {2, 3}}, axis(2), {}, {}, "axis 2 is not a dimension"},
    {"Split", "Split", {{kBatch, 6}, {}}, axis(1), {{1, ints({6})}}, {kBatch, 6}},
    {"SplitAlongBatch", "Split", {{kBatch, 6}}, axis(0), {}, {}, "would be cut"},
    {"SplitSum", "Split", {{4, 6}, {}}, axis(1), {{1, ints({5})}}, {}, "split (input 1) is [5] for 1 outputs"},
    {"SplitNegative", "Split", {{4, 6}, {}}, axis(1), {{1, ints({-6})}}, {}, "split (input 1)"},
    {"SplitCount", "Split", {{4, 6}, {}}, axis(1), {{1, ints({3, 3})}}, {}, "for 1 outputs"},
};

const MovementCase kCut[] = {
    {"Slice", "Slice", {{kBatch, 9}, {}, {}, {}, {}}, {}, range({1}, {8}, {1}, {3}), {kBatch, 3}},
    {"SliceBackwards", "Slice", {{9}, {}, {}, {}, {}}, {}, range({-1}, {-kMost}, {0}, {-2}), {5}},
    {"SliceNothing", "Slice", {{9}, {}, {}, {}, {}}, {}, range({5}, {5}, {0}, {1}), {0}},
    {"SliceWholeBatch", "Slice", {{kBatch, 9}, {}, {}, {}, {}}, {}, range({0}, {kMost}, {0}, {1}), {kBatch, 9}},
    {"SliceBatch", "Slice", {{kBatch, 9}, {}, {}, {}, {}}, {}, range({0}, {1}, {0}, {1}), {}, "would be cut"},
    {"SliceHugeStep", "Slice", {{9}, {}, {}, {}, {}}, {}, range({8}, {-kMost}, {0}, {-kMost - 1}), {1}},
    {"SliceStepZero", "Slice", {{9}, {}, {}, {}, {}}, {}, range({0}, {5}, {0}, {0}), {}, "with step 0"},
    {"SliceTwice", "Slice", {{9, 9}, {}, {}, {}, {}}, {}, range({0, 0}, {5, 5}, {0, -2}, {1, 1}), {}, "sliced twice"},
    {"SliceLengths", "Slice", {{9}, {}, {}, {}, {}}, {}, range({0}, {5, 5}, {0}, {1}), {}, "different lengths"},
    {"SliceFed", "Slice", {{9}, {1}, {1}}, {}, {}, {}, "starts (input 1) must be a constant"},
    {"Pad", "Pad", {{kBatch, 3, 4}, {}}, {}, {{1, ints({0, 1, 0, 0, 2, -3})}}, {kBatch, 6, 1}},
    {"PadBatch", "Pad", {{kBatch, 3}, {}}, {}, {{1, ints({1, 0, 0, 0})}}, {}, "padded"},
    {"PadReflectTooFar", "Pad", {{2, 3}, {}}, mode("reflect"), {{1, ints({0, 3, 0, 0})}}, {}, "cannot be padded by 3"},
    {"PadCutsTooMuch", "Pad", {{2, 3}, {}}, {}, {{1, ints({0, -2, 0, -2})}}, {}, "cannot be padded"},
    {"PadHuge", "Pad", {{2, 3}, {}}, {}, {{1, ints({0, kMost, 0, kMost})}}, {}, "cannot be padded"},
    {"PadCount", "Pad", {{2, 3}, {}}, {}, {{1, ints({1, 1})}}, {}, "has 2 elements, expected 4"},
    {"PadMode", "Pad", {{2, 3}, {}}, mode("wrap"), {{1, ints({0, 0, 0, 0})}}, {}, "mode is 'wrap'"},
};

const MovementCase kTurn[] = {
    {"Transpose", "Transpose", {{kBatch, 3, 4}}, {{"perm", Ints{2, 0, 1}}}, {}, {4, kBatch, 3}},
    {"TransposeDefault", "Transpose", {{kBatch, 3, 4}}, {}, {}, {4, 3, kBatch}},
    {"TransposeTwice", "Transpose", {{2, 3, 4}}, {{"perm", Ints{0, 0, 1}}}, {}, {}, "no permutation"},
    {"TransposeShort", "Transpose", {{2, 3, 4}}, {{"perm", Ints{0, 1}}}, {}, {}, "no permutation"},
    {"TransposeNegative", "Transpose", {{2, 3}}, {{"perm", Ints{0, -1}}}, {}, {}, "no permutation"},
    {"DepthToSpace", "DepthToSpace", {{kBatch, 18, 2, 4}}, {{"blocksize", std::int64_t{3}}}, {}, {kBatch, 2, 6, 12}},
    {"SpaceToDepth", "SpaceToDepth", {{kBatch, 2, 6, 12}}, {{"blocksize", std::int64_t{3}}}, {}, {kBatch, 18, 2, 4}},
    {"BlockMisfit", "DepthToSpace", {{1, 6, 2, 2}}, {{"blocksize", std::int64_t{2}}}, {}, {}, "blocksize is 2"},
    {"BlockZero", "SpaceToDepth", {{1, 6, 2, 2}}, {}, {}, {}, "blocksize is 0"},
    {"BlockBatchInside", "SpaceToDepth", {{1, kBatch, 2, 2}}, {{"blocksize", std::int64_t{2}}}, {}, {}, "[N, C, H, W]"},
    {"Gather", "Gather", {{5, kBatch}, {}}, {}, {{1, Tensor::of<std::int64_t>({2, 2}, {0, 4, -5, 1})}}, {2, 2, kBatch}},
    {"GatherScalar", "Gather", {{kBatch, 5}, {}}, axis(1), {{1, Tensor::of<std::int32_t>(Shape{}, {-1})}}, {kBatch}},
    {"GatherOutside", "Gather", {{5, 3}, {}}, {}, {{1, ints({5})}}, {}, "index 5 is outside dimension 0"},
    {"GatherReal", "Gather", {{5, 3}, {2}}, {}, {}, {}, "have type f32"},
    {"GatherBatch", "Gather", {{kBatch, 3}, {}}, {}, {{1, ints({0})}}, {}, "gathered along its batch"},
};

const MovementCase kResize[] = {
    {"Scales",
     "Resize",
     {{kBatch, 2, 3, 5}, {}, {}},
     {},
     {{1, reals({})}, {2, reals({1, 1, 2, 0.5f})}},
     {kBatch, 2, 6, 2}},
    {"ScaleOfBatch",
     "Resize",
     {{kBatch, 2}, {}, {}},
     {},
     {{1, reals({})}, {2, reals({2, 1})}},
     {},
     "cannot be resized"},
    {"ScaleZero", "Resize", {{3, 2}, {}, {}}, {}, {{1, reals({})}, {2, reals({0, 1})}}, {}, "cannot be resized"},
    {"ScaleNaN",
     "Resize",
     {{3, 2}, {}, {}},
     {},
     {{1, reals({})}, {2, reals({std::nanf(""), 1})}},
     {},
     "cannot be resized"},
    {"ScaleHuge", "Resize", {{3, 2}, {}, {}}, {}, {{1, reals({})}, {2, reals({1e30f, 1})}}, {}, "cannot be resized"},
    {"ScaleCount", "Resize", {{3, 2}, {}, {}}, {}, {{1, reals({})}, {2, reals({1})}}, {}, "expected 2 reals"},
    {"Mode",
     "Resize",
     {{3, 2}, {}, {}},
     mode("lanczos"),
     {{1, reals({})}, {2, reals({1, 1})}},
     {},
     "mode is 'lanczos'"},
};

const MovementCase kMovementShape[] = {
    {"Squeeze", "Squeeze", {{1, kBatch, 1, 3}}, {}, {}, {kBatch, 3}},
    {"SqueezeAxis", "Squeeze", {{1, kBatch, 1, 3}, {}}, {}, {{1, ints({-2})}}, {1, kBatch, 3}},
    {"SqueezeLarger", "Squeeze", {{1, 3}, {}}, {}, {{1, ints({1})}}, {}, "its size is not 1"},
    {"SqueezeBatch", "Squeeze", {{kBatch, 3}, {}}, {}, {{1, ints({0})}}, {}, "its size is not 1"},
    {"Unsqueeze", "Unsqueeze", {{kBatch, 3}, {}}, {}, {{1, ints({3, 0})}}, {1, kBatch, 3, 1}},
    {"UnsqueezeTwice", "Unsqueeze", {{kBatch, 3}, {}}, {}, {{1, ints({0, -4})}}, {}, "one of them twice"},
    {"Expand", "Expand", {{3, 1}, {}}, {}, {{1, ints({2, 1, 6})}}, {2, 3, 6}},
    {"ExpandToBatch", "Expand", {{1, 3}, {}}, {}, {{1, ints({-1, 3})}}, {kBatch, 3}},
    {"ExpandMisfit", "Expand", {{3, 2}, {}}, {}, {{1, ints({2, 3})}}, {}, "do not broadcast"},
    {"ConstantOfShape", "ConstantOfShape", {{}}, {}, {{0, ints({2, -1})}}, {2, kBatch}},
    {"ConstantOfBadShape", "ConstantOfShape", {{}}, {}, {{0, ints({2, -2 * kMostBatches})}}, {}, "k times the batch"},
    {"ConstantOfHugeShape", "ConstantOfShape", {{}}, {}, {{0, ints({kMost, kMost})}}, {}, "too many elements"},
    {"ShapeRange", "Shape", {{kBatch, 3, 4}}, {{"start", std::int64_t{-2}}}, {}, {2}},
    {"ShapeNothing", "Shape", {{kBatch, 3}}, {{"start", std::int64_t{2}}, {"end", std::int64_t{1}}}, {}, {0}},
    {"DropoutRatio", "Dropout", {{kBatch}, {}}, {}, {{1, reals({1.5f})}}, {}, "less than 1"},
};

std::string movement_case_name(const ::testing::TestParamInfo<MovementCase>& instance) {
  return instance.param.name;
}

INSTANTIATE_TEST_SUITE_P(Join, MovementRule, ::testing::ValuesIn(kJoin), movement_case_name);
INSTANTIATE_TEST_SUITE_P(Cut, MovementRule, ::testing::ValuesIn(kCut), movement_case_name);
INSTANTIATE_TEST_SUITE_P(Turn, MovementRule, ::testing::ValuesIn(kTurn), movement_case_name);
INSTANTIATE_TEST_SUITE_P(Resize, MovementRule, ::testing::ValuesIn(kResize), movement_case_name);
INSTANTIATE_TEST_SUITE_P(Shape, MovementRule, ::testing::ValuesIn(kMovementShape), movement_case_name);

}  // namespace
}  // namespace mangrove
