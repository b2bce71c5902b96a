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

/// What the process of a node that trains a stage may take, and takes besides it. released: bytes of a state that it
/// holds and will no longer.
class StageBudget {
 public:
  /// The arguments must outlive it.
  StageBudget(const TrainJob& job, const job::RoleContext& context, const Sources& data)
      : job_(job), context_(context), data_(data) {}

  /// For a stage of any kind.
  learn::MemoryBudget process(Bytes released) const;
  /// The first stage holds batches: those that are loaded ahead, the one in use, and decoded samples.
  Bytes reading() const;
  /// Beside its program a stage's process holds messages of values and gradients, of each micro-batch under way; its
  /// state, twice as it travels; and of a stage with replicas, what is added up.
  learn::MemoryBudget stage(const Graph& graph, const PipelineStage& place, std::int64_t micro_batch,
                            std::int64_t in_flight, Bytes released) const;
  /// As the leader is told of it.
  void describe(const Stage& stage, const learn::MemoryBudget& budget, MemoryPlan& plan) const;

 private:
  const TrainJob& job_;
  const job::RoleContext& context_;
  const Sources& data_;
};

}  // namespace mangrove::train
