#pragma once

#include "mangrove/graph/graph.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/memory_budget.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/stage.h"
#include "mangrove/train/source.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// The memory that the process of a node with a stage may take, and the memory that it needs besides the stage.
/// released: bytes of a state that the process holds and is about to free.
class StageBudget {
 public:
  /// The arguments must outlive it.
  StageBudget(const TrainJob& job, const job::RoleContext& context, const Sources& data)
      : job_(job), context_(context), data_(data) {}

  /// The budget for any stage.
  learn::MemoryBudget process(Bytes released) const;
  /// Memory of the first stage for samples: the batches that are loaded ahead, the one in use, and decoded samples.
  Bytes reading() const;
  /// The budget for this stage. Besides its program, the process needs memory for messages of values and gradients of
  /// each micro-batch under way; for its state, twice, while it travels; and for the sums of a stage with replicas.
  learn::MemoryBudget stage(const Graph& graph, const PipelineStage& place, std::int64_t micro_batch,
                            std::int64_t in_flight, Bytes released) const;
  /// Fills in the message that tells the leader of the stage's memory.
  void describe(const Stage& stage, const learn::MemoryBudget& budget, MemoryPlan& plan) const;

 private:
  const TrainJob& job_;
  const job::RoleContext& context_;
  const Sources& data_;
};

}  // namespace mangrove::train
