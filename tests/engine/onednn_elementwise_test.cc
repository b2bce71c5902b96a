// Elementwise operators between convolutions: oneDNN computes them in the convolutions' blocked layouts, whose padding
// (20 channels in blocks of 8 or 16) must not leak into results.
#ifdef MANGROVE_WITH_ONEDNN
#include <gtest/gtest.h>

#include <optional>

#include "tests/engine/backend_comparison.h"
#include "tests/engine/sample_graphs.h"

namespace mangrove {
namespace {

struct OnednnElementwiseCase {
  std::string name;
  std::string op;
  Shape parameter = {};              // of the second input, where it is a parameter
  std::string second = {};           // of the second input, where it is a value of the graph
  std::optional<float> number = {};  // of the second input, where it is a constant
};

void PrintTo(const OnednnElementwiseCase& c, std::ostream* out) {
  *out << c.name;
}

// conv, then the operator on its result and a second input, then conv.
Graph between_convolutions(const OnednnElementwiseCase& c) {
  const std::map<std::string, Attribute> same{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  GraphSketch sketch(DType::f32);
  sketch.input("x", {kBatch, 3, 9, 7})
      .parameter("first.w", {20, 3, 3, 3}, -0.3, 0.3)
      .parameter("other.w", {20, 3, 3, 3}, -0.3, 0.3)
      .parameter("last.w", {5, 20, 3, 3}, -0.2, 0.2)
      .node("Conv", {"x", "first.w"}, "convolved", same)
      .node("Sigmoid", {"convolved"}, "first")
      .node("Conv", {"x", "other.w"}, "parallel", same)
      .node("Exp", {"parallel"}, "other")
      .node("GlobalAveragePool", {"other"}, "pooled");
  std::vector<std::string> inputs{"first"};
  if (c.parameter.rank() > 0) {
    sketch.parameter("second", c.parameter, 0.5, 1.5);
    inputs.push_back("second");
  } else if (c.number) {
    sketch.constant("second", Tensor::of<float>({}, {*c.number}));
    inputs.push_back("second");
  } else if (!c.second.empty()) {
    inputs.push_back(c.second);
  }
  return sketch.node(c.op, inputs, "between").node("Conv", {"between", "last.w"}, "y", same).create({"y", "pooled"});
}

class BetweenConvolutions : public ::testing::TestWithParam<OnednnElementwiseCase> {};

TEST_P(BetweenConvolutions, EqualsPortable) {
  const Graph graph = between_convolutions(GetParam());
  for (const std::int64_t batch : {1, 3}) {
    const auto expected = make_execution(graph, "portable", batch), found = make_execution(graph, "onednn", batch);
    ASSERT_TRUE(expected && found);
    expect_close(run_step(*found, 3), run_step(*expected, 3), 1e-4);
  }
}

TEST_P(BetweenConvolutions, StaysInOnednn) {
  CompileOptions options;
  options.backend = "onednn";
  const auto program = Program::compile(between_convolutions(GetParam()), options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ((*program)->describe().find("is portable"), std::string::npos) << (*program)->describe();
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise, BetweenConvolutions,
    ::testing::Values(
        OnednnElementwiseCase{"Add", "Add", {}, "other"}, OnednnElementwiseCase{"Sub", "Sub", {}, "other"},
        OnednnElementwiseCase{"Mul", "Mul", {}, "other"}, OnednnElementwiseCase{"Div", "Div", {}, "other"},
        OnednnElementwiseCase{"Max", "Max", {}, "other"}, OnednnElementwiseCase{"Min", "Min", {}, "other"},
        OnednnElementwiseCase{"SqueezeExcite", "Mul", {}, "pooled"},
        OnednnElementwiseCase{"DivPooled", "Div", {}, "pooled"},
        OnednnElementwiseCase{"AddPooled", "Add", {}, "pooled"},
        OnednnElementwiseCase{"ChannelBias", "Add", {20, 1, 1}},
        OnednnElementwiseCase{"ChannelScale", "Mul", {20, 1, 1}},
        OnednnElementwiseCase{"ScaleOfFourDimensions", "Mul", {1, 20, 1, 1}},
        OnednnElementwiseCase{"AddNumber", "Add", {}, {}, 0.5f},
        OnednnElementwiseCase{"SubNumber", "Sub", {}, {}, 0.5f},
        OnednnElementwiseCase{"MulNumber", "Mul", {}, {}, 0.5f},
        OnednnElementwiseCase{"DivNumber", "Div", {}, {}, 6.0f}, OnednnElementwiseCase{"Square", "Pow", {}, {}, 2.0f},
        OnednnElementwiseCase{"Elu", "Elu"}, OnednnElementwiseCase{"LeakyRelu", "LeakyRelu"},
        OnednnElementwiseCase{"HardSwish", "HardSwish"}, OnednnElementwiseCase{"Softplus", "Softplus"},
        OnednnElementwiseCase{"Sqrt", "Sqrt"}, OnednnElementwiseCase{"Reciprocal", "Reciprocal"},
        OnednnElementwiseCase{"Neg", "Neg"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace mangrove

#endif  // MANGROVE_WITH_ONEDNN
