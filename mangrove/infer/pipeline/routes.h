#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mangrove/infer/pipeline/stage_plan.h"

namespace mangrove::infer {

/// Chooses the replica of each stage that a micro-batch goes to: the one that will probably finish it first. It
/// considers the micro-batches that are on their way, and the last measured times of the replicas. No input or output;
/// threads: one at a time.
class Routes {
 public:
  using Route = std::vector<net::Rank>;

  /// A plan begins. All micro-batches that are on their way are forgotten.
  void begin(const StagePlan& plan);
  /// The route of a micro-batch that is sent now, perhaps again.
  const Route& choose(std::uint64_t micro_batch);
  /// The micro-batch is not on its way any more.
  void finish(std::uint64_t micro_batch);
  /// The measured time of a replica for one micro-batch.
  void learn(std::size_t stage, net::Rank rank, Seconds busy);

 private:
  struct Holder {
    net::Rank rank = 0;
    Seconds busy = 0;
    int on_the_way = 0;
  };
  std::vector<std::vector<Holder>> stages_;
  std::map<std::uint64_t, Route> on_the_way_;
};

}  // namespace mangrove::infer
