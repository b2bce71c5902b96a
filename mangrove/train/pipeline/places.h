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

/// Micro-batches of each mini-batch that so many samples make: all mini-batches of `batch` samples but the last, all
/// micro-batches of `rows` but each last.
std::vector<std::int64_t> divide(std::int64_t samples, std::int64_t batch, std::int64_t rows);

/// Some of the samples, which go through the stages at once.
struct MicroBatch {
  std::size_t mini_batch = 0;
  std::int64_t first = 0, count = 0;  // samples of the mini-batch
};
/// All of them, in order.
std::vector<MicroBatch> micro_batches_of(std::int64_t samples, std::int64_t batch, std::int64_t rows);

/// Where a rank is in a pipeline.
struct StagePlace {
  std::size_t stage = 0, replica = 0;
};
std::optional<StagePlace> place_of(const Pipeline& pipeline, net::Rank rank);
/// Of all stages.
net::RankSet ranks_of(const Pipeline& pipeline);
net::RankSet ranks_of(const PipelineStage& stage);
StageWidth width_of(const Pipeline& pipeline, std::size_t stage);
/// The replica of the stage that has each micro-batch. micro_batches: of each mini-batch.
std::vector<std::size_t> owners_of(const PipelineStage& stage, std::span<const std::int64_t> micro_batches);
/// What the device at this place does.
std::vector<Action> own_actions(const Pipeline& pipeline, const StagePlace& place, Schedule schedule,
                                std::span<const std::int64_t> micro_batches, std::int64_t ahead);
/// Of so many samples in mini-batches, those that go through this place.
std::int64_t samples_at(const Pipeline& pipeline, const StagePlace& place, std::int64_t samples, std::int64_t batch);

/// Whether the stages have every operator of the graph once, in order, each on ranks of its own among so many, and
/// micro-batches have some samples.
bool is_pipeline_of(const Pipeline& pipeline, const Graph& graph, int ranks);

}  // namespace mangrove::train
