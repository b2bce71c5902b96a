#include "mangrove/train/data_parallel/hybrid.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/graph/onnx.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/all_reduce_leader.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/data_parallel/division.h"
#include "mangrove/train/data_parallel/hybrid_check.h"
#include "mangrove/train/data_parallel/layer_pair.h"
#include "mangrove/train/data_parallel/network_shard.h"
#include "mangrove/train/data_parallel/worker.h"
#include "mangrove/train/events.h"
#include "mangrove/train/rows.h"

namespace mangrove::train {
namespace {

class HybridLeader final : public AllReduceLeader {
 public:
  HybridLeader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
               std::unique_ptr<GlobalModel> model)
      : AllReduceLeader(job, context, recipe, std::move(model)),
        graph_(global_model().graph().without_weights()),
        pairs_(layer_pairs(graph_)),
        states_(global_model().values().size() - static_cast<std::size_t>(graph_.parameter_elements())) {}

 private:
  /// How many elements of the sums a worker answers with: of what all workers have, and of its divided parameters.
  struct ShareSizes {
    std::size_t common = 0, divided = 0;
  };

  bool prepare_works(std::map<net::Rank, Work>& works) override;
  std::string_view state_for(std::size_t index) override;
  std::size_t share_of(std::size_t index) override;
  Result<std::string> put_together(const Answers& answers) override;
  void tell();
  const NetworkShard& shard_of(std::size_t index) const { return shards_[index % shards_.size()]; }
  ShareSizes sizes_of(std::size_t index) const;

  const Graph graph_;  // without the weights
  const std::vector<LayerPair> pairs_;
  const std::size_t states_;               // elements
  net::RankSet divided_among_;             // the workers that have the shards
  Division division_;                      // among these
  std::vector<NetworkShard> shards_;       // of a group
  std::vector<std::string> shard_states_;  // of the step, encoded; empty: not made yet
};

/// Everyone gets another shard when there are other workers than in the step before.
bool HybridLeader::prepare_works(std::map<net::Rank, Work>& works) {
  const bool changes = group() != divided_among_;
  if (changes) {
    const Division before =
        std::exchange(division_, *best_division(graph_, pairs_, group().size(), static_cast<std::int64_t>(batch()),
                                                static_cast<std::size_t>(job().model_parallel())));
    const bool is_other = division_ != before || divided_among_.size() != group().size();
    divided_among_ = group();
    shards_.clear();
    for (std::size_t i = 0; i < division_.ways; ++i)
      shards_.push_back(NetworkShard::of(graph_, pairs_[division_.pair], i, division_.ways));
    if (is_other) tell();
  }
  shard_states_.assign(shards_.size(), {});
  DividedLayers divided;
  divided.set_pair(static_cast<std::uint32_t>(division_.pair));
  divided.set_ways(static_cast<std::uint32_t>(division_.ways));
  for (const auto& [rank, work] : works) divided.add_samples(work.samples_size());
  for (auto& [rank, work] : works) *work.mutable_divided() = divided;
  return changes;
}

void HybridLeader::tell() {
  const LayerPair& pair = pairs_[division_.pair];
  const auto bytes = [&](std::size_t ways) {
    return kFloatBytes * static_cast<Bytes>(floats_sent(graph_, pair, ways, divided_among_.size(),
                                                        static_cast<std::int64_t>(batch())));
  };
  reports().event(LayersDivided{.step = step(),
                                .layers = {pair.first, pair.second},
                                .ways = static_cast<std::int64_t>(division_.ways),
                                .groups = static_cast<std::int64_t>(divided_among_.size() / division_.ways),
                                .bytes = bytes(division_.ways),
                                .data_parallel_bytes = bytes(1)});
}

std::string_view HybridLeader::state_for(std::size_t index) {
  std::string& state = shard_states_[index % shards_.size()];
  if (!state.empty()) return state;
  const NetworkShard& shard = shard_of(index);
  learn::Checkpoint checkpoint;
  global_model().save(checkpoint);
  const auto cut = [&](std::vector<float>& whole) {
    std::vector<float> part(shard.common_elements() + shard.divided_elements());
    shard.gather(whole, part);
    whole = std::move(part);
  };
  cut(checkpoint.parameters);
  for (std::vector<float>& slot : checkpoint.slots) cut(slot);
  checkpoint.average.clear();  // the leader keeps it
  return state = learn::encode_checkpoint(checkpoint);
}

HybridLeader::ShareSizes HybridLeader::sizes_of(std::size_t index) const {
  const std::size_t groups = group().size() / division_.ways;
  const NetworkShard& shard = shard_of(index);
  return {.common = part_of(shard.common_elements() + states_, index, group().size()).count,
          .divided = part_of(shard.divided_elements(), index / division_.ways, groups).count};
}

std::size_t HybridLeader::share_of(std::size_t index) {
  const ShareSizes sizes = sizes_of(index);
  return sizes.common + sizes.divided;
}

Result<std::string> HybridLeader::put_together(const Answers& answers) {
  std::vector<float> common;                                // the ranks' shares follow each other
  std::vector<std::vector<float>> divided(shards_.size());  // of each shard, the groups' shares
  const auto append = [](std::string_view bytes, std::vector<float>& floats) {
    floats.resize(floats.size() + bytes.size() / sizeof(float));
    return net::read_floats(bytes, std::span(floats).last(bytes.size() / sizeof(float)));
  };
  std::size_t index = 0;
  for (const auto& [rank, answered] : answers) {
    const std::size_t bytes = sizes_of(index).common * sizeof(float);
    MG_RETURN_IF_ERROR(append(answered.body().substr(0, bytes), common));
    MG_RETURN_IF_ERROR(append(answered.body().substr(bytes), divided[index % shards_.size()]));
    ++index;
  }
  std::vector<float> sums(global_model().values().size());
  const std::span<float> parameters = std::span(sums).first(sums.size() - states_);
  const std::span<const float> of_all = std::span(common).first(shards_[0].common_elements());
  shards_[0].scatter_common(of_all, parameters);
  for (std::size_t i = 0; i < shards_.size(); ++i) shards_[i].scatter_divided(divided[i], parameters);
  std::ranges::copy(std::span(common).subspan(of_all.size()), std::span(sums).subspan(parameters.size()).begin());
  std::string bytes;
  net::append_floats(bytes, sums);
  return bytes;
}

Status run_hybrid_leader(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  MG_RETURN_IF_ERROR(check_hybrid(job, graph, recipe));
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), recipe));
  return HybridLeader(job, context, recipe, std::move(model)).run();
}

}  // namespace

Status run_hybrid(const TrainJob& job, job::RoleContext& context) {
  return context.endpoint.rank() == 0 ? run_hybrid_leader(job, context) : run_worker(job, context);
}

Strategy rows::hybrid() {
  return {{.name = "hybrid",
           .summary = "all_reduce, but groups of workers divide two large fully connected layers: see model_parallel "
                      "(Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014)",
           .on_loss = "the layers are divided among the others, and the step begins anew; training ends only when no "
                      "worker is left"},
          {.sums_gradients = true, .divides_layers = true, .vectors_held = 15},
          &run_hybrid};
}

}  // namespace mangrove::train
