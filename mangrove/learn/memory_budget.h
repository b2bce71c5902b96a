#pragma once

#include <functional>

#include "mangrove/engine/training_plan.h"

namespace mangrove::learn {

/// Memory that a whole process may come to while it trains.
struct MemoryBudget {
  Bytes limit = 0;     // of resident memory; 0: none
  Bytes reserved = 0;  // what the process will still take for more than the program: optimizer, batches, messages
  Bytes released = 0;  // what it holds now but no longer when training starts: the weights of the given graph
  /// What it holds now: asked for again while it plans, as compiled kernels take memory.
  std::function<Bytes()> resident = [] { return Bytes{0}; };
};

/// What the budget leaves for a program now; below 0 where it is used up.
Bytes memory_left(const MemoryBudget& budget);

/// A training plan, and what the process comes to with it.
struct ProcessPlan {
  TrainingPlan training;
  Bytes resident = 0;  // of the process once it has planned: libraries, data, compiled kernels
  Bytes reserved = 0;
  Bytes predicted_peak() const { return resident + reserved + training.program->memory().total(); }
};

/// The plan that trains fastest while the process stays within its budget, counting what it holds already.
/// options.batch is the batch; micro_batch as for plan_training. errors: resource_exhausted (says the least limit that
/// would do); those of plan_training.
Result<ProcessPlan> plan_process(const Graph& graph, const CompileOptions& options, const MemoryBudget& budget,
                                 std::int64_t micro_batch = 0);

}  // namespace mangrove::learn
