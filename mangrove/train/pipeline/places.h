#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/schedule.h"

namespace mangrove::train {

/// The number of micro-batches of each mini-batch, for this number of samples. All mini-batches have `batch` samples
/// except perhaps the last one; all micro-batches have `rows` samples except perhaps the last one of a mini-batch.
std::vector<std::int64_t> divide(std::int64_t samples, std::int64_t batch, std::int64_t rows);

/// Samples that go through the stages together.
struct MicroBatch {
  std::size_t mini_batch = 0;
  std::int64_t first = 0, count = 0;  // its samples, counted within the mini-batch
};
/// All micro-batches, in order.
std::vector<MicroBatch> micro_batches_of(std::int64_t samples, std::int64_t batch, std::int64_t rows);

/// The place of a rank in a pipeline.
struct StagePlace {
  std::size_t stage = 0, replica = 0;
};
std::optional<StagePlace> place_of(const Pipeline& pipeline, net::Rank rank);
/// The ranks of all stages.
net::RankSet ranks_of(const Pipeline& pipeline);
net::RankSet ranks_of(const PipelineStage& stage);
StageWidth width_of(const Pipeline& pipeline, std::size_t stage);
/// For each micro-batch, the replica of the stage that has it. micro_batches: their number in each mini-batch.
std::vector<std::size_t> owners_of(const PipelineStage& stage, std::span<const std::int64_t> micro_batches);
/// The actions of the device at this place.
std::vector<Action> own_actions(const Pipeline& pipeline, const StagePlace& place, Schedule schedule,
                                std::span<const std::int64_t> micro_batches, std::int64_t ahead);
/// How many of these samples go through the device at this place.
std::int64_t samples_at(const Pipeline& pipeline, const StagePlace& place, std::int64_t samples, std::int64_t batch);

/// Whether the pipeline makes sense: the stages have every operator of the graph once, in order; each stage is on ranks
/// of its own, which exist; and micro-batches have at least one sample.
bool is_pipeline_of(const Pipeline& pipeline, const Graph& graph, int ranks);

}  // namespace mangrove::train
