#include "mangrove/learn/memory_budget.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace mangrove::learn {
namespace {

Bytes limit_of(const MemoryBudget& budget) {
  return budget.limit > 0 ? budget.limit : std::numeric_limits<Bytes>::max() / 2;
}

// Of what the process has now, that which stays.
Bytes held(const MemoryBudget& budget) {
  return budget.resident() - budget.released;
}

Error too_little(const Graph& graph, const CompileOptions& options, const MemoryBudget& budget, Bytes least_program) {
  const Bytes resident = held(budget);
  return make_error(Code::resource_exhausted,
                    "training graph '" + graph.name() + "' at batch " + std::to_string(options.batch) + " within " +
                        format_bytes(limit_of(budget)) + " is not possible: it needs at least " +
                        format_bytes(least_program + resident + budget.reserved) + " (program " +
                        format_bytes(least_program) + ", optimizer and batches " + format_bytes(budget.reserved) +
                        ", the process so far " + format_bytes(resident) + ")");
}

}  // namespace

Bytes memory_left(const MemoryBudget& budget) {
  return limit_of(budget) - budget.reserved - held(budget);
}

Result<ProcessPlan> plan_process(const Graph& graph, const CompileOptions& options, const MemoryBudget& budget,
                                 std::int64_t micro_batch) {
  // Planning compiles, and compiled kernels take memory: what is left is known only afterwards.
  constexpr int kTries = 3;
  Bytes for_program = memory_left(budget);
  for (int attempt = 0;; ++attempt) {
    auto plan = plan_training(graph, options, for_program, micro_batch);
    if (!plan.ok() && plan.code() == Code::resource_exhausted) {
      MG_TRY(const Bytes least, least_training_memory(graph, options, micro_batch));
      return too_little(graph, options, budget, least);
    }
    if (!plan.ok()) return plan.error();
    ProcessPlan made{.training = std::move(*plan), .resident = held(budget), .reserved = budget.reserved};
    const Bytes excess = made.predicted_peak() - limit_of(budget);
    if (excess <= 0) return made;
    if (attempt == kTries) return too_little(graph, options, budget, made.training.program->memory().total());
    for_program = made.training.program->memory().total() - excess;
  }
}

}  // namespace mangrove::learn
