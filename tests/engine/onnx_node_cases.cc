#include "tests/engine/onnx_node_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>

#include "mangrove/engine/execution.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/onnx_tensor.h"
#include "mangrove/graph/operator.h"

namespace mangrove {
namespace {

using Outcome = NodeCaseResult::Outcome;

// The tolerances of the ONNX project's own runner.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;

Result<Tensor> load_tensor(const NodeCase& test, const std::string& kind, int index) {
  MG_TRY(const std::string bytes,
         read_file(test.folder / "test_data_set_0" / (kind + "_" + std::to_string(index) + ".pb")));
  return parse_onnx_tensor(bytes);
}

bool in_our_table(const onnx::ModelProto& model) {
  return std::all_of(model.graph().node().begin(), model.graph().node().end(),
                     [](const auto& node) { return find_operator(node.op_type()) != nullptr; });
}

Result<onnx::ModelProto> read_model(const fs::path& folder) {
  MG_TRY(const std::string bytes, read_file(folder / "model.onnx"));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return make_error(Code::data_loss, "not an ONNX file");
  return model;
}

// What models hold as constants, but these tests feed.
std::set<std::string> constant_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& node : graph.node()) {
    const Operator& row = *find_operator(node.op_type());
    for (const std::size_t i : row.constants) {
      if (i < static_cast<std::size_t>(node.input_size())) names.insert(node.input(static_cast<int>(i)));
    }
  }
  return names;
}

// Where each fed input is among the test's files.
std::map<std::string, int> file_numbers(const onnx::GraphProto& graph) {
  std::map<std::string, int> numbers;
  for (int i = 0; i < graph.input_size(); ++i) numbers[graph.input(i).name()] = i;
  return numbers;
}

Result<Graph> load_graph(const NodeCase& test, onnx::ModelProto model) {
  auto& graph = *model.mutable_graph();
  const std::set<std::string> frozen = constant_inputs(graph);
  for (const auto& [name, number] : file_numbers(graph)) {
    if (!frozen.contains(name)) continue;
    MG_TRY(const Tensor value, load_tensor(test, "input", number));
    encode_tensor(value, name, *graph.add_initializer());
  }
  // A file names the version in which its operator last changed; the oldest are below what we read.
  if (model.opset_import(0).version() < 7) model.mutable_opset_import(0)->set_version(17);
  return parse_onnx(model.SerializeAsString());
}

// Whether the test is of a node's training mode, which with us the program has and not the node.
bool is_of_training(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.op == "BatchNormalization" && node.int_or("training_mode", 0) != 0;
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

template <class T>
Status check_close_elements(std::span<const T> a, std::span<const T> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool alike = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (alike || std::abs(a[i] - b[i]) <= kAbsolute + kRelative * std::abs(b[i])) continue;
    return make_error(Code::internal, "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " +
                                          std::to_string(b[i]));
  }
  return {};
}

// numpy has no bfloat16.
bool has_bfloat16(const onnx::GraphProto& graph) {
  const auto is_one = [](const onnx::ValueInfoProto& value) {
    return value.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16;
  };
  return std::any_of(graph.input().begin(), graph.input().end(), is_one) ||
         std::any_of(graph.output().begin(), graph.output().end(), is_one);
}

Status check_close(const Tensor& found, const Tensor& expected) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape()) {
    return make_error(Code::internal, std::string(dtype_name(found.dtype())) + " " + to_string(found.shape()) +
                                          ", expected " + dtype_name(expected.dtype()) + " " +
                                          to_string(expected.shape()));
  }
  if (found.dtype() == DType::f32) return check_close_elements<float>(found.as<float>(), expected.as<float>());
  if (found.dtype() == DType::f64) return check_close_elements<double>(found.as<double>(), expected.as<double>());
  const bool same = std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.bytes())) == 0;
  return same ? Status() : Status(make_error(Code::internal, "other values"));
}

Result<std::set<std::string>> run_graph(const NodeCase& test, const Graph& graph,
                                        const std::map<std::string, int>& files, const std::string& backend) {
  CompileOptions options;
  options.backend = backend;
  if (is_of_training(graph)) options.mode = Mode::training;
  MG_TRY(const std::shared_ptr<const Program> program, Program::compile(graph, options));
  MG_TRY(const std::unique_ptr<Execution> execution, Execution::create(program));
  for (const auto& [name, info] : graph.inputs()) {
    MG_TRY(const Tensor value, load_tensor(test, "input", files.at(name)));
    MG_RETURN_IF_ERROR(execution->set_input(name, value));
  }
  execution->forward();
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    MG_TRY(const Tensor expected, load_tensor(test, "output", static_cast<int>(i)));
    MG_RETURN_IF_ERROR(
        check_close(execution->output_tensor(graph.outputs()[i]), expected).context("output " + graph.outputs()[i]));
  }
  std::set<std::string> backends;
  for (const Program::PlacedStep& step : program->forward_steps()) backends.insert(step.backend);
  return backends;
}

// "node 'Conv_1' (Conv): " says nothing new where each test has one node.
std::string without_node(const std::string& message) {
  const std::size_t end = message.find("): ");
  return message.rfind("node '", 0) == 0 && end != std::string::npos ? message.substr(end + 3) : message;
}

std::vector<fs::path> case_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(node_case_folder())) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

fs::path node_case_folder() {
  return "/usr/share/libonnx-testdata/data/node";
}

std::vector<NodeCase> node_cases() {
  std::vector<NodeCase> cases;
  for (const fs::path& folder : case_folders()) {
    const Result<onnx::ModelProto> model = read_model(folder);
    if (!model.ok() || model->graph().node_size() == 0 || !in_our_table(*model)) continue;
    cases.push_back(
        {folder, folder.filename().string(), model->graph().node(0).op_type(), model->graph().node_size() > 1});
  }
  return cases;
}

std::size_t node_cases_left_out() {
  return case_folders().size() - node_cases().size();
}

NodeCaseResult run_node_case(const NodeCase& test, const std::string& backend) {
  const Result<onnx::ModelProto> model = read_model(test.folder);
  if (!model.ok()) return {Outcome::failed, model.error().message};
  const Result<Graph> graph = load_graph(test, *model);
  if (!graph.ok()) {
    const bool refused = graph.code() == Code::unimplemented;
    return {refused ? Outcome::refused : Outcome::failed, without_node(graph.error().message)};
  }
  if (has_bfloat16(model->graph()))
    return {Outcome::refused, "its bfloat16 values are kept as integers, and cut where they should be rounded"};
  if (has_drawn_values(*graph)) return {Outcome::refused, "its random numbers are of another generator"};
  const auto backends = run_graph(test, *graph, file_numbers(model->graph()), backend);
  if (!backends.ok()) return {Outcome::failed, without_node(backends.error().message)};
  return {Outcome::passed, "", *backends};
}

}  // namespace mangrove
