// Shape rules of ConvTranspose, the normalizations and the recurrent operators: what fits, and what is refused and why.
#include <gtest/gtest.h>

#include "tests/graph/small_graphs.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

struct LayerCase {
  const char* name;
  const char* op;
  std::vector<Shape> inputs;
  std::map<std::string, Attribute> attributes;
  Shape expected;            // of output 0, where it fits
  const char* message = "";  // where it does not: a part of the error
  std::map<std::size_t, Tensor> constants = {};
};

class LayerRule : public ::testing::TestWithParam<LayerCase> {};

TEST_P(LayerRule, GivesTheShapeOrTheReason) {
  const LayerCase& c = GetParam();
  const auto shape = testing::infer_one(testing::make_node("", c.op, {}, {}, c.attributes), c.inputs, c.constants);
  if (*c.message == '\0') {
    ASSERT_TRUE(shape.ok()) << shape.error().message;
    EXPECT_EQ(to_string(*shape), to_string(c.expected));
  } else {
    ASSERT_FALSE(shape.ok()) << to_string(*shape);
    EXPECT_NE(shape.error().message.find(c.message), std::string::npos) << shape.error().message;
  }
}

constexpr std::int64_t kOne = 1, kFive = 5;

const LayerCase kTransposes[] = {
    {"Plain", "ConvTranspose", {{kBatch, 4, 3, 5}, {4, 2, 3, 2}, {2}}, {}, {kBatch, 2, 5, 6}},
    {"Grouped", "ConvTranspose", {{1, 4, 3}, {4, 2, 3}}, {{"group", std::int64_t{2}}}, {1, 4, 5}},
    {"OutputPadding",
     "ConvTranspose",
     {{1, 1, 4}, {1, 1, 3}},
     {{"strides", Ints{3}}, {"pads", Ints{1, 1}}, {"output_padding", Ints{2}}},
     {1, 1, 12}},
    {"OutputShape",
     "ConvTranspose",
     {{1, 1, 4}, {1, 1, 3}},
     {{"strides", Ints{2}}, {"output_shape", Ints{8}}},
     {1, 1, 8}},
    {"Same",
     "ConvTranspose",
     {{1, 1, 4}, {1, 1, 3}},
     {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}},
     {1, 1, 8}},
    {"NothingLeft", "ConvTranspose", {{1, 1, 1}, {1, 1, 3}}, {{"pads", Ints{2, 2}}}, {}, "padding leaves nothing"},
    {"OtherChannels", "ConvTranspose", {{1, 3, 4}, {4, 1, 3}}, {}, {}, "channels of input [1, 3, 4]"},
    {"OtherBias", "ConvTranspose", {{1, 4, 4}, {4, 2, 3}, {4}}, {}, {}, "bias has shape [4], expected [2]"},
};

const LayerCase kNormalizations[] = {
    {"Batch", "BatchNormalization", {{kBatch, 3, 4}, {3}, {3}, {3}, {3}}, {}, {kBatch, 3, 4}},
    {"BatchOtherScale",
     "BatchNormalization",
     {{2, 3}, {2}, {3}, {3}, {3}},
     {},
     {},
     "input 1 has shape [2], expected [3]"},
    {"BatchOfAVector", "BatchNormalization", {{3}, {3}, {3}, {3}, {3}}, {}, {}, "expected [N, C, ...]"},
    {"BatchNotFirst", "BatchNormalization", {{2, kBatch}, {3}, {3}, {3}, {3}}, {}, {}, "the batch to be dimension 0"},
    {"Layer", "LayerNormalization", {{kBatch, 3, 4}, {4}}, {}, {kBatch, 3, 4}},
    {"LayerAxis",
     "LayerNormalization",
     {{4, kBatch, 3, 2}, {3, 2}, {3, 2}},
     {{"axis", std::int64_t{-2}}},
     {4, kBatch, 3, 2}},
    {"LayerOverBatch", "LayerNormalization", {{kBatch, 3}, {3}}, {{"axis", std::int64_t{0}}}, {}, "over the batch"},
    {"LayerAxisOutside", "LayerNormalization", {{2, 3}, {3}}, {{"axis", kFive}}, {}, "axis 5 is not a dimension"},
    {"LayerOtherScale", "LayerNormalization", {{2, 3}, {1}}, {}, {}, "input 1 has shape [1], expected [3]"},
    {"Instance", "InstanceNormalization", {{kBatch, 3, 4}, {3}, {3}}, {}, {kBatch, 3, 4}},
    {"InstanceOfRows", "InstanceNormalization", {{2, 3}, {3}, {3}}, {}, {}, "expected [N, C, ...]"},
    {"Group", "GroupNormalization", {{kBatch, 6, 4}, {6}, {6}}, {{"num_groups", std::int64_t{3}}}, {kBatch, 6, 4}},
    {"GroupNotDividing", "GroupNormalization", {{2, 6, 4}, {6}, {6}}, {{"num_groups", kFive}}, {}, "into 5 groups"},
    {"GroupWithoutNumber", "GroupNormalization", {{2, 6, 4}, {6}, {6}}, {}, {}, "into 0 groups"},
    {"Lrn", "LRN", {{kBatch, 3, 4, 4}}, {{"size", kFive}}, {kBatch, 3, 4, 4}},
    {"LrnWithoutSize", "LRN", {{2, 3, 4, 4}}, {}, {}, "attribute size is 0"},
};

const Shape kX{7, kBatch, 3};
const Tensor kLengths = Tensor::of<std::int32_t>({2}, {7, 7});
const Tensor kUnequalLengths = Tensor::of<std::int32_t>({2}, {7, 5});

const LayerCase kRecurrent[] = {
    {"Lstm", "LSTM", {kX, {1, 8, 3}, {1, 8, 2}}, {}, {7, 1, kBatch, 2}},
    {"Gru",
     "GRU",
     {kX, {2, 6, 3}, {2, 6, 2}, {2, 12}},
     {{"direction", std::string("bidirectional")}},
     {7, 2, kBatch, 2}},
    {"BatchFirst", "RNN", {{kBatch, 7, 3}, {1, 2, 3}, {1, 2, 2}}, {{"layout", kOne}}, {kBatch, 7, 1, 2}},
    {"Lengths", "RNN", {{7, 2, 3}, {1, 2, 3}, {1, 2, 2}, {1, 4}, {2}}, {}, {7, 1, 2, 2}, "", {{4, kLengths}}},
    {"UnequalLengths",
     "RNN",
     {{7, 2, 3}, {1, 2, 3}, {1, 2, 2}, {1, 4}, {2}},
     {},
     {},
     "sequence_lens (input 4) differ from the 7 steps",
     {{4, kUnequalLengths}}},
    {"BatchAsTime", "LSTM", {{kBatch, 7, 3}, {1, 8, 3}, {1, 8, 2}}, {}, {}, "expected [T, N, inputs]"},
    {"OtherGates", "LSTM", {kX, {1, 6, 3}, {1, 6, 2}}, {}, {}, "4 x hidden"},
    {"OtherRecurrence", "LSTM", {kX, {1, 8, 3}, {1, 8, 3}}, {}, {}, "recurrence (input 2) has shape [1, 8, 3]"},
    {"OtherBias",
     "GRU",
     {kX, {1, 6, 3}, {1, 6, 2}, {1, 6}},
     {},
     {},
     "bias (input 3) has shape [1, 6], expected [1, 12]"},
    {"OtherHiddenSize", "RNN", {kX, {1, 2, 3}, {1, 2, 2}}, {{"hidden_size", kFive}}, {}, "hidden_size is 5"},
    {"OneDirectionOfTwo",
     "RNN",
     {kX, {1, 2, 3}, {1, 2, 2}},
     {{"direction", std::string("bidirectional")}},
     {},
     "[2, 1 x"},
    {"NoSuchDirection", "RNN", {kX, {1, 2, 3}, {1, 2, 2}}, {{"direction", std::string("up")}}, {}, "direction is 'up'"},
    {"Relu", "RNN", {kX, {1, 2, 3}, {1, 2, 2}}, {{"activations", Names{"Relu"}}}, {7, 1, kBatch, 2}},
    {"OtherActivation", "RNN", {kX, {1, 2, 3}, {1, 2, 2}}, {{"activations", Names{"Elu"}}}, {}, "activation 'Elu'"},
    {"TooFewActivations", "GRU", {kX, {1, 6, 3}, {1, 6, 2}}, {{"activations", Names{"Tanh"}}}, {}, "has 1 names"},
    {"Clip", "LSTM", {kX, {1, 8, 3}, {1, 8, 2}}, {{"clip", 3.0f}}, {}, "attribute clip is not supported"},
    {"CoupledGates", "LSTM", {kX, {1, 8, 3}, {1, 8, 2}}, {{"input_forget", kOne}}, {}, "input_forget is not supported"},
};

std::string case_name(const ::testing::TestParamInfo<LayerCase>& instance) {
  return instance.param.name;
}

INSTANTIATE_TEST_SUITE_P(ConvTranspose, LayerRule, ::testing::ValuesIn(kTransposes), case_name);
INSTANTIATE_TEST_SUITE_P(Normalization, LayerRule, ::testing::ValuesIn(kNormalizations), case_name);
INSTANTIATE_TEST_SUITE_P(Recurrent, LayerRule, ::testing::ValuesIn(kRecurrent), case_name);

}  // namespace
}  // namespace mangrove
