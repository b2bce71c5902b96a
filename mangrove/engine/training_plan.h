#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/engine/program.h"

namespace mangrove {

/// How a batch is trained within a budget of memory: in how many micro-batches, whose gradients are added up, and what
/// is computed again instead of being kept.
///
/// Batch normalization takes its statistics over a micro-batch: fewer samples than the batch where there are several.
struct TrainingPlan {
  std::shared_ptr<const Program> program;  // compiled for one micro-batch; its options hold what is recomputed, and
                                           // whether gradients accumulate: where there are several micro-batches
  std::int64_t batch = 0;
  std::int64_t micro_batch = 0;
  double slowdown = 1;  // time of a batch over that of the same batch in one piece, nothing recomputed: modelled
  double recomputed_share = 0;  // of the forward pass that runs twice: modelled
  Bytes unlimited = 0;          // program memory of the batch in one piece, nothing recomputed
  std::int64_t micro_batches() const { return (batch + micro_batch - 1) / micro_batch; }
};

/// The plan that trains fastest, by the cost model, among those whose program memory (MemoryReport::total) is at most
/// `budget`; options.batch is the batch, options.recompute is ignored. micro_batch: that the plan must have, at most
/// the batch; 0: it is chosen. errors: resource_exhausted (see least_training_memory); those of Program::compile.
Result<TrainingPlan> plan_training(const Graph& graph, const CompileOptions& options, Bytes budget,
                                   std::int64_t micro_batch = 0);

/// The least budget for which plan_training finds a plan. errors: those of Program::compile.
Result<Bytes> least_training_memory(const Graph& graph, const CompileOptions& options, std::int64_t micro_batch = 0);

}  // namespace mangrove
