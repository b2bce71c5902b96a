// A node with several outputs of which training uses only some.
#include <gtest/gtest.h>

#include "tests/engine/gradient_check.h"
#include "tests/engine/sample_graphs.h"

namespace mangrove {
namespace {

Graph split_in_three(const std::string& used) {
  return GraphSketch(DType::f64)
      .input("x", {kBatch, 6})
      .parameter("w", {6, 6})
      .node("MatMul", {"x", "w"}, "product")
      .node_of_several("Split", {"product"}, {"a", "b", "c"}, {{"axis", std::int64_t{1}}})
      .node("Tanh", {used}, "y")
      .create({"y"});
}

class UnusedOutput : public ::testing::TestWithParam<std::string> {};

TEST_P(UnusedOutput, HasGradientZero) {
  for (const std::string& backend : backend_names()) {
    const auto execution = training_execution(split_in_three(GetParam()), backend, 3);
    EXPECT_LT(gradient_error(*execution, 9), 1e-6) << backend;
  }
}

INSTANTIATE_TEST_SUITE_P(Used, UnusedOutput, ::testing::Values("a", "b", "c"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
