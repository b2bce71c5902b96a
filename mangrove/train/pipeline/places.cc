#include "mangrove/train/pipeline/places.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "mangrove/job/keys.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {
namespace {

constexpr double kLongest = 1e6;  // seconds of a micro-batch

}  // namespace

std::vector<std::int64_t> divide(std::int64_t samples, std::int64_t batch, std::int64_t rows) {
  std::vector<std::int64_t> parts;
  for (; samples > 0; samples -= batch) parts.push_back((std::min(batch, samples) + rows - 1) / rows);
  return parts;
}

std::vector<MicroBatch> micro_batches_of(std::int64_t samples, std::int64_t batch, std::int64_t rows) {
  std::vector<MicroBatch> all;
  for (std::size_t mini_batch = 0; samples > 0; samples -= batch, ++mini_batch)
    for (std::int64_t first = 0; first < std::min(batch, samples); first += rows)
      all.push_back({mini_batch, first, std::min(rows, std::min(batch, samples) - first)});
  return all;
}

std::optional<StagePlace> place_of(const Pipeline& pipeline, net::Rank rank) {
  StagePlace place;
  for (const PipelineStage& stage : pipeline.stages()) {
    place.replica = 0;
    for (const StageReplica& replica : stage.replicas()) {
      if (replica.rank() == rank) return place;
      ++place.replica;
    }
    ++place.stage;
  }
  return std::nullopt;
}

net::RankSet ranks_of(const PipelineStage& stage) {
  net::RankSet ranks;
  for (const StageReplica& replica : stage.replicas()) ranks.push_back(replica.rank());
  return ranks;
}

net::RankSet ranks_of(const Pipeline& pipeline) {
  net::RankSet all;
  for (const PipelineStage& stage : pipeline.stages())
    for (const net::Rank rank : ranks_of(stage)) all.push_back(rank);
  return all;
}

StageWidth width_of(const Pipeline& pipeline, std::size_t stage) {
  std::vector<std::size_t> devices;
  for (const PipelineStage& one : pipeline.stages()) devices.push_back(static_cast<std::size_t>(one.replicas_size()));
  return width_of(devices, stage);
}

std::vector<std::size_t> owners_of(const PipelineStage& stage, std::span<const std::int64_t> micro_batches) {
  std::vector<double> seconds;
  for (const StageReplica& replica : stage.replicas()) seconds.push_back(replica.seconds());
  return deal(micro_batches, seconds);
}

std::vector<Action> own_actions(const Pipeline& pipeline, const StagePlace& place, Schedule schedule,
                                std::span<const std::int64_t> micro_batches, std::int64_t ahead) {
  return actions_of(schedule(width_of(pipeline, place.stage), micro_batches, ahead),
                    owners_of(pipeline.stages(static_cast<int>(place.stage)), micro_batches), place.replica);
}

std::int64_t samples_at(const Pipeline& pipeline, const StagePlace& place, std::int64_t samples, std::int64_t batch) {
  const auto owners =
      owners_of(pipeline.stages(static_cast<int>(place.stage)), divide(samples, batch, pipeline.micro_batch()));
  std::int64_t count = 0;
  std::size_t number = 0;
  for (const MicroBatch& micro_batch : micro_batches_of(samples, batch, pipeline.micro_batch()))
    count += owners[number++] == place.replica ? micro_batch.count : 0;
  return count;
}

bool is_pipeline_of(const Pipeline& pipeline, const Graph& graph, int ranks) {
  std::size_t next = 0;
  std::set<net::Rank> used;
  for (const PipelineStage& stage : pipeline.stages()) {
    if (stage.first() != next || stage.last() <= next || stage.last() > graph.nodes().size()) return false;
    for (const StageReplica& replica : stage.replicas()) {
      const bool is_rank = replica.rank() >= 1 && replica.rank() < ranks && used.insert(replica.rank()).second;
      if (!is_rank || !std::isfinite(replica.seconds()) || replica.seconds() <= 0 || replica.seconds() > kLongest)
        return false;
    }
    if (stage.replicas().empty()) return false;
    next = stage.last();
  }
  const std::int64_t most = job::range_of(*TrainJob::descriptor(), "micro_batch").high;
  return next == graph.nodes().size() && pipeline.micro_batch() >= 1 && pipeline.micro_batch() <= most;
}

}  // namespace mangrove::train
