// The ONNX project's own operator tests, run through programs of every backend.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "tests/engine/onnx_node_cases.h"

#include "mangrove/engine/backend.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

// Which ONNX 1.12 has no test of as a node of its own: they are none of opset 17.
const std::set<std::string> kUntested{"Gelu", "GroupNormalization", "Mish"};

class OnnxNodeTests : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxNodeTests, OutputsAreAsTheProjectSays) {
  if (!fs::exists(node_case_folder())) {
    GTEST_SKIP() << node_case_folder() << " is absent: install libonnx-testdata";
  }
  int passed = 0;
  std::set<std::string> operators_run;
  for (const NodeCase& test : node_cases()) {
    const NodeCaseResult result = run_node_case(test, GetParam());
    EXPECT_NE(result.outcome, NodeCaseResult::Outcome::failed) << test.name << ": " << result.reason;
    if (result.outcome != NodeCaseResult::Outcome::passed) continue;
    ++passed;
    operators_run.insert(test.op);
  }
  std::printf("%d tests of %zu operators\n", passed, operators_run.size());
  EXPECT_GE(passed, 320);
  for (const Operator& row : operators()) {
    const std::string op(row.type);
    EXPECT_NE(operators_run.contains(op), kUntested.contains(op)) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, OnnxNodeTests,
                         ::testing::ValuesIn(std::vector<std::string>(backend_names().begin(), backend_names().end())),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
