// The ONNX project's own operator tests (Debian package libonnx-testdata), run through programs of every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

const fs::path kTestData = "/usr/share/libonnx-testdata/data/node";
// The tolerances of the ONNX project's own runner.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

Tensor load_tensor(const fs::path& path) {
  const auto bytes = read_file(path);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message;
  auto tensor = parse_onnx_tensor(*bytes);
  EXPECT_TRUE(tensor.ok()) << path << ": " << tensor.error().message;
  return std::move(tensor).value();
}

fs::path data_file(const fs::path& folder, const std::string& kind, int index) {
  return folder / "test_data_set_0" / (kind + "_" + std::to_string(index) + ".pb");
}

bool in_our_table(const onnx::ModelProto& model) {
  return std::all_of(model.graph().node().begin(), model.graph().node().end(),
                     [](const auto& node) { return find_operator(node.op_type()) != nullptr; });
}

// What models hold as constants, but these tests feed.
std::set<std::string> constant_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& node : graph.node()) {
    const Operator& row = *find_operator(node.op_type());
    for (int i = 0; i < node.input_size(); ++i) {
      const bool is_constant = std::count(row.constants.begin(), row.constants.end(), static_cast<std::size_t>(i)) > 0;
      const bool is_option = i > 0 && (row.type == "Reshape" || row.type == "Dropout");
      if (is_constant || is_option) names.insert(node.input(i));
    }
  }
  return names;
}

// The graph of a test, or an error if the file needs what our table refuses (3-d convolution, ceil_mode, ...).
Result<Graph> load_case(const fs::path& folder, const onnx::ModelProto& file) {
  onnx::ModelProto model = file;
  auto& graph = *model.mutable_graph();
  const std::set<std::string> frozen = constant_inputs(graph);
  for (int i = 0; i < graph.input_size(); ++i) {
    const std::string& name = graph.input(i).name();
    if (frozen.contains(name))
      encode_tensor(load_tensor(data_file(folder, "input", i)), name, *graph.add_initializer());
  }
  // A file names the version in which its operator last changed; the oldest are below what we read.
  if (model.opset_import(0).version() < 7) model.mutable_opset_import(0)->set_version(17);
  return parse_onnx(model.SerializeAsString());
}

void expect_close(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  ASSERT_EQ(found.shape(), expected.shape());
  if (found.dtype() == DType::f32) {
    const auto a = found.as<float>(), b = expected.as<float>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_LE(std::abs(a[i] - b[i]), kAbsolute + kRelative * std::abs(b[i])) << "element " << i;
    }
    return;
  }
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.bytes())), 0);
}

// Whether the test is of a node's training mode, which with us the program has and not the node.
bool is_of_training(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.op == "BatchNormalization" && node.int_or("training_mode", 0);
  });
}

// Whether the expected values were drawn by the project's own random generator: a Dropout in training that drops.
bool has_drawn_values(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    if (node.op != "Dropout" || node.inputs.size() < 3) return false;
    const bool drops = node.inputs[1].empty() || graph.initializers().at(node.inputs[1]).as<float>()[0] > 0;
    return drops && graph.initializers().at(node.inputs[2]).as<bool>()[0];
  });
}

void run_case(const fs::path& folder, const Graph& graph, const std::string& backend) {
  CompileOptions options;
  options.backend = backend;
  if (is_of_training(graph)) options.mode = Mode::training;
  auto program = Program::compile(graph, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  auto execution = Execution::create(*program);
  ASSERT_TRUE(execution.ok()) << execution.error().message;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Tensor value = load_tensor(data_file(folder, "input", static_cast<int>(i)));
    const Status set = (*execution)->set_input(graph.inputs()[i].first, value);
    ASSERT_TRUE(set.ok()) << set.error().message;
  }
  (*execution)->forward();
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    expect_close((*execution)->output_tensor(graph.outputs()[i]),
                 load_tensor(data_file(folder, "output", static_cast<int>(i))));
  }
}

class OnnxNodeTests : public testing::TestWithParam<std::string> {};

TEST_P(OnnxNodeTests, OutputsAreAsTheProjectSays) {
  if (!fs::exists(kTestData)) GTEST_SKIP() << kTestData << " is absent: install libonnx-testdata";
  int run = 0;
  std::set<std::string> operators_run;
  for (const auto& entry : fs::directory_iterator(kTestData)) {
    const auto bytes = read_file(entry.path() / "model.onnx");
    onnx::ModelProto model;
    if (!bytes.ok() || !model.ParseFromString(*bytes) || !in_our_table(model)) continue;
    SCOPED_TRACE(entry.path().string());
    const Result<Graph> graph = load_case(entry.path(), model);
    if (!graph.ok()) {
      EXPECT_EQ(graph.code(), Code::unimplemented) << graph.error().message;
      continue;
    }
    if (has_drawn_values(*graph)) continue;
    run_case(entry.path(), *graph, GetParam());
    ++run;
    operators_run.insert(model.graph().node(0).op_type());
  }
  std::printf("%d tests of %zu operators\n", run, operators_run.size());
  EXPECT_GE(run, 320);
  for (const Operator& row : operators()) EXPECT_TRUE(operators_run.contains(std::string(row.type))) << row.type;
}

INSTANTIATE_TEST_SUITE_P(Backends, OnnxNodeTests,
                         testing::ValuesIn(std::vector<std::string>(backend_names().begin(), backend_names().end())),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace mangrove
