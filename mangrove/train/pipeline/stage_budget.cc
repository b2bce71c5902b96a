#include "mangrove/train/pipeline/stage_budget.h"

namespace mangrove::train {
namespace {

constexpr Bytes kConnection = MiB(12);  // of gRPC, once messages flow

}  // namespace

learn::MemoryBudget StageBudget::process(Bytes released) const {
  return {.limit = most_memory(job_, context_.device),
          .reserved = kConnection,
          .released = released,
          .resident = [&device = context_.device] { return device.resident_memory(); }};
}

Bytes StageBudget::reading() const {
  return 5 * job_.batch() * data_.sample_shape().elements() * kFloatBytes + data_.cached();
}

learn::MemoryBudget StageBudget::stage(const Graph& graph, const PipelineStage& place, std::int64_t micro_batch,
                                       std::int64_t in_flight, Bytes released) const {
  learn::MemoryBudget budget = process(released);
  const StageRange range{place.first(), place.last()};
  const Bytes messages = 2 * (in_flight + 1) * crossing_bytes(graph, range, micro_batch);
  budget.reserved += 2 * released + messages + (range.first == 0 ? reading() : 0);
  if (place.replicas_size() > 1) budget.reserved += released;
  return budget;
}

void StageBudget::describe(const Stage& stage, const learn::MemoryBudget& budget, MemoryPlan& plan) const {
  const std::int64_t micro_batch = stage.options().micro_batch;
  const Stage::Memory& memory = stage.memory();
  plan.set_micro_batch(micro_batch);
  plan.set_micro_batches((job_.batch() + micro_batch - 1) / micro_batch);
  plan.set_recomputed_share(stage.recomputes() ? 1 : 0);
  plan.set_predicted_peak(context_.device.resident_memory() + budget.reserved + memory.total());
  plan.set_unlimited(memory.total() - memory.kept + memory.kept_activations);
}

}  // namespace mangrove::train
