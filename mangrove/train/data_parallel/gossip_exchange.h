#pragma once

#include "mangrove/train/data_parallel/exchange.h"
#include "mangrove/train/data_parallel/local_steps.h"
#include "mangrove/train/data_parallel/neighbour_averaging.h"
#include "mangrove/train/data_parallel/trainee.h"

namespace mangrove::train {

/// The worker makes steps of its own, averages with its neighbours, and goes on from that average. It takes values from
/// the leader only when it has none.
class GossipExchange final : public Exchange {
 public:
  /// graph: the job's model.
  GossipExchange(Trainee& trainee, const Graph& graph);

  bool accept(const Work& work, std::string_view body) override;
  Status train(const Work& work, std::string_view body) override;
  std::span<const float> own_values() const override;

 private:
  Trainee& trainee_;
  LocalSteps local_;
  NeighbourAveraging averager_;
  bool has_values_ = false;
};

}  // namespace mangrove::train
