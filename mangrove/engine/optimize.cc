#include "mangrove/engine/optimize.h"

#include "mangrove/base/table.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/passes/passes.h"

namespace mangrove {
namespace {

// More sweeps than a real network needs: each sweep but the last makes the graph smaller.
constexpr int kMostSweeps = 100;
constexpr Bytes kMostAddedBytes = MiB(64);  // that computed constants may add to a graph

// One node as a graph of its own, all its inputs initializers.
GraphParts graph_of(const Node& node, const std::vector<Tensor>& inputs) {
  GraphParts parts;
  parts.name = node.name;
  Node alone = node;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    alone.inputs[i] = "input" + std::to_string(i);
    parts.initializers.emplace(alone.inputs[i], inputs[i]);
  }
  for (const std::string& output : node.outputs) {
    if (!output.empty()) parts.outputs.push_back(output);
  }
  parts.nodes.push_back(std::move(alone));
  return parts;
}

Result<std::vector<Tensor>> evaluate(const Node& node, const std::vector<Tensor>& inputs) {
  MG_TRY(const Graph graph, Graph::create(graph_of(node, inputs)));
  CompileOptions options;
  options.backend = "portable";
  MG_TRY(std::shared_ptr<const Program> program, Program::compile(graph, options));
  MG_TRY(std::unique_ptr<Execution> execution, Execution::create(std::move(program)));
  execution->forward();
  std::vector<Tensor> outputs;
  for (const std::string& output : node.outputs) {
    outputs.push_back(output.empty() ? Tensor() : execution->output_tensor(output));
  }
  return outputs;
}

}  // namespace

std::vector<PassName> pass_names() {
  std::vector<PassName> names;
  for (const Pass& pass : passes()) names.push_back({pass.name, pass.summary});
  names.push_back({kFusePass, "compute activations, residual additions and quantizations inside the node before them"});
  return names;
}

Status check_pass_names(const std::set<std::string>& names) {
  const std::vector<PassName> known = pass_names();
  for (const std::string& name : names)
    MG_RETURN_IF_ERROR(find_row(known, name, "no rewriting pass is called", Code::invalid_argument));
  return {};
}

Result<Optimized> optimize(const Graph& graph, const OptimizeOptions& options) {
  MG_RETURN_IF_ERROR(check_pass_names(options.disabled));
  Optimized result{graph, {}};
  const bool training = options.mode == Mode::training;
  Bytes may_add = kMostAddedBytes;
  const PassContext context{.training = training, .evaluate = evaluate, .may_add = &may_add};
  bool changed = true;
  for (int sweep = 0; changed; ++sweep) {
    if (sweep == kMostSweeps) {
      result.notes.push_back("after " + std::to_string(kMostSweeps) + " sweeps the passes still find something");
      break;
    }
    changed = false;
    for (const Pass& pass : passes()) {
      if (options.disabled.contains(std::string(pass.name)) || (training && pass.inference_only)) continue;
      const std::string where = "pass " + std::string(pass.name);
      MG_TRY(Rewrite rewrite, pass.run(result.graph, context).context(where));
      if (rewrite.notes.empty()) continue;
      MG_TRY(result.graph, Graph::create(std::move(rewrite.parts)).context(where));
      for (const std::string& note : rewrite.notes) result.notes.push_back(std::string(pass.name) + ": " + note);
      changed = true;
    }
  }
  return result;
}

}  // namespace mangrove
