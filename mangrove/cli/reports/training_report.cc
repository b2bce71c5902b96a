#include "mangrove/cli/reports/training_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mangrove/job/machine.h"
#include "mangrove/learn/memory_budget.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr Bytes kFloat = sizeof(float);
constexpr std::int64_t kBatchesHeld = 5;  // by a loader that prepares some ahead

std::string line(const char* what, const json& bytes) {
  return fmt::format("  {:<46} {:>10}\n", what, format_bytes(bytes.get<Bytes>()));
}

}  // namespace

Result<json> training_report(const Graph& graph, std::int64_t batch, Bytes memory) {
  CompileOptions options;
  options.mode = Mode::training;
  options.batch = batch;
  const Bytes weights = graph.parameter_elements() * kFloat;
  Bytes inputs = 0;
  for (const auto& [name, info] : graph.inputs()) inputs += info.shape.with_batch(batch).elements() * kFloat;
  const job::Machine here;
  const learn::MemoryBudget budget{.limit = memory > 0 ? memory : here.usual_memory(),
                                   .reserved = weights + kBatchesHeld * inputs,
                                   .released = weights,
                                   .resident = [&] { return here.resident_memory(); }};
  MG_TRY(const learn::ProcessPlan plan, learn::plan_process(graph.without_weights(), options, budget));
  const MemoryReport program = plan.training.program->memory();
  return json{{"batch", batch},
              {"memory", memory},
              {"micro_batch", plan.training.micro_batch},
              {"micro_batches", plan.training.micro_batches()},
              {"recomputed_share", plan.training.recomputed_share},
              {"recomputed_nodes", plan.training.program->options().recompute},
              {"predicted_slowdown", plan.training.slowdown},
              {"parameters_and_gradients", program.parameters},
              {"activations", program.arena},
              {"activations_without_sharing", program.activations},
              {"optimizer", weights},
              {"batches", kBatchesHeld * inputs},
              {"process", plan.resident},
              {"predicted_peak", plan.predicted_peak()},
              {"program_without_limit", plan.training.unlimited}};
}

std::string training_text(const json& report) {
  std::string text =
      fmt::format("training at batch {}{}: micro-batches of {} ({} of them)", report["batch"].get<std::int64_t>(),
                  report["memory"].get<Bytes>() > 0 ? " within " + format_bytes(report["memory"].get<Bytes>()) : "",
                  report["micro_batch"].get<std::int64_t>(), report["micro_batches"].get<std::int64_t>());
  text +=
      fmt::format(", {:.0f} % of the forward pass computed again, {:.2f} times the time of the batch in one piece\n",
                  100 * report["recomputed_share"].get<double>(), report["predicted_slowdown"].get<double>());
  text += line("parameters and their gradients", report["parameters_and_gradients"]);
  text += line("activations, their gradients, workspace", report["activations"]);
  text += line("optimizer (SGD with momentum)", report["optimizer"]);
  text += line("batches that are loaded ahead", report["batches"]);
  text += line("the process: libraries, compiled kernels", report["process"]);
  text += line("predicted peak of resident memory", report["predicted_peak"]);
  text += line("for comparison: program of the batch in one piece", report["program_without_limit"]);
  if (report["micro_batches"].get<std::int64_t>() > 1) {
    text += "  Batch normalization takes its statistics over a micro-batch.\n";
  }
  return text;
}

}  // namespace mangrove::cli
