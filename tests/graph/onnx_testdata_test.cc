// Reads the ONNX project's own operator tests (Debian package libonnx-testdata): each model that uses only operators
// and attributes of our table must load, with the output types and shapes that the file declares.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

const fs::path kTestData = "/usr/share/libonnx-testdata/data/node";

bool attributes_known(const onnx::NodeProto& node, const Operator& row) {
  return std::all_of(node.attribute().begin(), node.attribute().end(), [&row](const auto& attribute) {
    return std::any_of(row.attributes.begin(), row.attributes.end(),
                       [&attribute](const auto& rule) { return rule.name == attribute.name(); });
  });
}

// Whether the table claims to know all that the model uses.
bool in_our_table(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() && (import.version() < 7 || import.version() > 21)) return false;
  }
  return std::all_of(model.graph().node().begin(), model.graph().node().end(), [](const auto& node) {
    if (node.op_type() == "Constant") return true;
    const Operator* row = find_operator(node.op_type());
    return row != nullptr && node.domain().empty() && attributes_known(node, *row);
  });
}

std::vector<fs::path> test_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kTestData)) {
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Shape declared_shape(const onnx::ValueInfoProto& output) {
  std::vector<std::int64_t> dims;
  for (const auto& dim : output.type().tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() ? dim.dim_value() : kBatch);
  }
  return Shape(std::move(dims));
}

struct Outcome {
  int checked = 0;
  std::vector<std::string> refused;  // with the reason: rank, ceil_mode, ...
};

// Node tests feed as inputs what real models hold as constants (a Reshape's shape, a Dropout's ratio): makes them
// initializers, with the values of the test's first data set.
void freeze_constant_inputs(const fs::path& folder, onnx::ModelProto& model) {
  auto& graph = *model.mutable_graph();
  std::set<std::string> frozen;
  for (const auto& node : graph.node()) {
    const Operator* row = find_operator(node.op_type());
    for (int i = 0; row != nullptr && i < node.input_size(); ++i) {
      const bool is_constant =
          std::count(row->constants.begin(), row->constants.end(), static_cast<std::size_t>(i)) > 0;
      const bool is_option = i > 0 && (row->type == "Reshape" || row->type == "Dropout");
      if (is_constant || is_option) frozen.insert(node.input(i));
    }
  }
  for (int i = 0; i < graph.input_size(); ++i) {
    if (!frozen.contains(graph.input(i).name())) continue;
    const auto bytes = read_file(folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto tensor = parse_onnx_tensor(*bytes);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    encode_tensor(*tensor, graph.input(i).name(), *graph.add_initializer());
  }
}

void check_model(const fs::path& folder, Outcome& outcome) {
  SCOPED_TRACE(folder.string());
  const auto bytes = read_file(folder / "model.onnx");
  ASSERT_TRUE(bytes.ok());
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*bytes));
  if (!in_our_table(model)) return;
  freeze_constant_inputs(folder, model);
  const auto graph = parse_onnx(model.SerializeAsString());
  if (!graph.ok() && graph.code() == Code::unimplemented) {
    outcome.refused.push_back(folder.filename().string() + ": " + graph.error().message);
    return;
  }
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const auto& output : model.graph().output()) {
    EXPECT_EQ(to_string(graph->value(output.name()).shape), to_string(declared_shape(output)));
    const Result<DType> declared = decode_dtype(output.type().tensor_type().elem_type());
    ASSERT_TRUE(declared.ok()) << declared.error().message;
    EXPECT_EQ(graph->value(output.name()).dtype, *declared);
  }
  ++outcome.checked;
}

TEST(OnnxTestData, ModelsOfOurOperatorsLoadWithTheDeclaredShapes) {
  if (!fs::exists(kTestData)) GTEST_SKIP() << kTestData << " is absent: install libonnx-testdata";
  Outcome outcome;
  for (const fs::path& folder : test_folders()) check_model(folder, outcome);
  for (const std::string& line : outcome.refused) std::printf("refused: %s\n", line.c_str());
  std::printf("%d models checked, %zu refused\n", outcome.checked, outcome.refused.size());
  EXPECT_GE(outcome.checked, 268);
}

}  // namespace
}  // namespace mangrove
