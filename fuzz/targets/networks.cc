#include "fuzz/targets/networks.h"

#include "fuzz/memory_file.h"

#include "mangrove/compress/coded_model.h"
#include "mangrove/engine/execution.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/operator.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/trainable.h"

namespace mangrove::fuzz {
namespace {

constexpr Bytes kMostMemory = MiB(64);
constexpr double kMostOperations = 1e7;
constexpr std::size_t kChecksum = 4;  // bytes

double operations(const Graph& graph) {
  double all = 0;
  for (const Node& node : graph.nodes()) all += node_cost(graph, node, 2).flops;
  return all;
}

/// Runs two samples through the network if that is little work; in training also backwards.
void run(const Graph& graph, Mode mode) {
  for (const std::string_view backend : backend_names()) {
    CompileOptions options;
    options.mode = mode;
    options.batch = 2;
    options.backend = backend;
    auto program = Program::compile(graph, options);
    if (!program.ok() || (*program)->memory().total() > kMostMemory) continue;
    const auto execution = Execution::create(*std::move(program));
    if (!execution.ok()) continue;
    (*execution)->forward();
    if (mode == Mode::training) (*execution)->backward();
  }
}

}  // namespace

void coded_model(std::string_view bytes) {
  static_cast<void>(compress::parse_model(bytes));
  if (bytes.size() > kChecksum)
    static_cast<void>(compress::parse_model_content(bytes.substr(0, bytes.size() - kChecksum)));
}

void onnx(std::string_view bytes) {
  const Result<Graph> graph = parse_onnx(bytes);
  if (!graph.ok()) return;
  if (operations(*graph) > kMostOperations) return;
  static_cast<void>(parse_onnx(encode_onnx(*graph)));
  if (graph->nodes().size() > 1) static_cast<void>(graph->slice(0, 1));
  if (const auto optimized = optimize(*graph, {}); optimized.ok()) run(optimized->graph, Mode::inference);
  if (learn::check_trainable(*graph).ok()) run(*graph, Mode::training);
}

void onnx_external(std::string_view bytes) {
  const MemoryFolder folder("model.onnx", bytes);  // whose tensors may be in the model's own file
  static_cast<void>(load_onnx(folder.path() / "model.onnx"));
}

void onnx_outline(std::string_view bytes) {
  const Result<OnnxOutline> outline = parse_onnx_outline(bytes);
  if (!outline.ok() || operations(outline->graph) > kMostOperations) return;
  for (const std::string_view backend : backend_names()) {
    CompileOptions options;
    options.batch = 2;
    options.backend = backend;
    static_cast<void>(Program::compile(outline->graph.without_weights(), options));
  }
}

void onnx_tensor(std::string_view bytes) {
  static_cast<void>(parse_onnx_tensor(bytes));
}

}  // namespace mangrove::fuzz
