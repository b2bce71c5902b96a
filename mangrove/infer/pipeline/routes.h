#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mangrove/infer/pipeline/stage_plan.h"

namespace mangrove::infer {

/// Which replica of each stage a micro-batch goes to: the one that will be done with it first, as far as those that are
/// on their way say, and the times that the last ones took.
/// No input or output; threads: one at a time.
class Routes {
 public:
  using Route = std::vector<net::Rank>;

  /// Forgets all that are on their way.
  void begin(const StagePlan& plan);
  /// Of a micro-batch that is sent now, perhaps not for the first time.
  const Route& choose(std::uint64_t micro_batch);
  /// It is no longer on its way, if it was.
  void finish(std::uint64_t micro_batch);
  /// Takes what a replica took for one of them into account.
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
