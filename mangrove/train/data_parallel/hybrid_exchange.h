#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "mangrove/learn/loss.h"
#include "mangrove/train/data_parallel/all_reduce_worker.h"
#include "mangrove/train/data_parallel/divided_network.h"
#include "mangrove/train/data_parallel/division.h"
#include "mangrove/train/data_parallel/exchange.h"
#include "mangrove/train/data_parallel/group_pass.h"
#include "mangrove/train/data_parallel/layer_pair.h"
#include "mangrove/train/data_parallel/network_shard.h"
#include "mangrove/train/data_parallel/trainee.h"

namespace mangrove::train {

/// A worker of strategy hybrid: it has a shard of the network, passes micro-batches through the divided layers together
/// with the other workers of its group, and adds up gradients as AllReduceWorker does.
class HybridExchange final : public Exchange {
 public:
  /// graph: the job's model. errors: those of AllReduceWorker::create and Loss::create.
  static Result<std::unique_ptr<Exchange>> create(Trainee& trainee, const Graph& graph);

  bool accept(const Work& work, std::string_view body) override;
  Status train(const Work& work, std::string_view body) override;

 private:
  /// This worker's place among the workers of a step.
  struct Place {
    Division division;
    net::RankSet ranks;     // of the step
    std::size_t index = 0;  // position of this worker
    std::size_t shard() const { return index % division.ways; }
    net::RankSet group() const;
    net::RankSet peers() const;  // with the same shard
    bool operator==(const Place&) const = default;
  };

  HybridExchange(Trainee& trainee, const Graph& graph, std::unique_ptr<AllReduceWorker> worker, learn::Loss loss);
  std::optional<Place> place_in(const Work& work) const;
  Status take_place(const Place& place);
  Status make_network();
  std::size_t rows_at_once() const;
  std::vector<std::size_t> rows_of(const Work& work, std::size_t first) const;
  std::vector<float> input_rows(const data::Batch& batch, std::size_t first) const;
  Result<bool> pass(const Work& work, const data::Batch& batch, std::size_t first, learn::BatchStats& stats);
  Result<bool> pass_all(const Work& work, const data::Batch& batch, learn::BatchStats& stats);
  learn::BatchStats add_loss(const data::Batch& batch, std::size_t first, std::span<const float> logits,
                             std::span<float> gradient) const;
  void tell_ready(const DividedNetwork::Part& part);

  Trainee& trainee_;
  const Graph graph_;  // whole, without the weights
  const std::vector<LayerPair> pairs_;
  const std::int32_t classes_;
  const std::unique_ptr<AllReduceWorker> worker_;
  const learn::Loss loss_;
  std::optional<Place> place_;  // of the state that this worker has
  std::optional<NetworkShard> shard_;
  std::unique_ptr<DividedNetwork> network_;  // null: to be made for the shard
  std::vector<float> sums_;                  // gradient and states of the shard, while they are summed
};

}  // namespace mangrove::train
