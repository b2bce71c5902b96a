// Networks as PyTorch's exporter writes them in several opsets (tests/data/onnx/export.py made the files) must load and
// compute what PyTorch computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/paths.h"

#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove {
namespace {

fs::path data_folder() {
  return testing::repository_path("tests/data/onnx");
}

std::vector<std::string> exported_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(data_folder())) {
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What PyTorch computes, e.g. for residual-opset9 and residual-opset13 in residual.safetensors.
TensorFile reference_of(const std::string& file) {
  const auto bytes = read_file(data_folder() / (file.substr(0, file.rfind("-opset")) + ".safetensors"));
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  auto parsed = parse_safetensors(*bytes);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return std::move(parsed).value();
}

void expect_output(const Graph& graph, const std::string& backend, const TensorFile& reference) {
  const Tensor& input = reference.tensors.at("input");
  const Tensor& expected = reference.tensors.at("output");
  CompileOptions options;
  options.backend = backend;
  options.batch = input.shape()[0];
  const auto program = Program::compile(graph, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto execution = Execution::create(*program).value();
  ASSERT_TRUE(execution->set_input("input", input).ok());
  execution->forward();
  const Tensor found = execution->output_tensor("output");
  ASSERT_EQ(found.shape(), expected.shape());
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_NEAR(found.as<float>()[at], expected.as<float>()[at], 2e-5) << "element " << i;
  }
}

class ExportedNetworks : public ::testing::TestWithParam<std::string> {};

TEST_P(ExportedNetworks, GiveTheLogitsOfPyTorch) {
  const auto graph = load_onnx(data_folder() / (GetParam() + ".onnx"));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_TRUE(graph->inputs()[0].second.shape.is_symbolic());
  const TensorFile reference = reference_of(GetParam());
  const auto optimized = optimize(*graph, {});
  ASSERT_TRUE(optimized.ok()) << optimized.error().message;
  const auto again = parse_onnx(encode_onnx(*graph));
  ASSERT_TRUE(again.ok()) << "as written by us: " << again.error().message;
  for (const std::string& backend : backend_names()) {
    SCOPED_TRACE(backend);
    expect_output(*graph, backend, reference);
    expect_output(optimized->graph, backend, reference);
    expect_output(*again, backend, reference);
  }
}

// The exporters' shape computations are gone: what is left are the layers.
TEST_P(ExportedNetworks, HaveNoComputationsOfShapesLeft) {
  const auto graph = load_onnx(data_folder() / (GetParam() + ".onnx"));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const Node& node : graph->nodes()) {
    for (const char* op : {"Shape", "Size", "Range", "Cast", "Floor", "ConstantOfShape", "Constant"}) {
      EXPECT_NE(node.op, op) << node.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ExportedNetworks, ::testing::ValuesIn(exported_files()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace mangrove
