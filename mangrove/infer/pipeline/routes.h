#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/infer/pipeline/stage_plan.h"

namespace mangrove::infer {

/// Chooses the replica of each stage that a micro-batch goes to: the one that will probably finish it first. It
/// considers the micro-batches that are on their way, and the last measured times of the replicas.
///
/// A micro-batch that does not come back says nothing of a single rank of its route. A replica is mute if micro-batches
/// that went to it were overdue in kStrikes timeouts one after the other and none has come back through it, while
/// some have come back through another replica of its stage. It is suspect after the first one. A route has at most one
/// suspect where that can be, so that another replica is not blamed with it. A stage that has one replica has no mute
/// one: nothing comes back at all. No input or output; threads: one at a time.
class Routes {
 public:
  using Route = std::vector<net::Rank>;
  static constexpr int kStrikes = 3;

  /// A plan begins. All micro-batches that are on their way are forgotten.
  void begin(const StagePlan& plan);
  /// The route of a micro-batch that is sent now, perhaps again.
  Route choose(std::uint64_t micro_batch);
  /// The micro-batch is sent this way too. REQUIRES: each rank has its stage.
  void add(std::uint64_t micro_batch, const Route& route);
  /// The micro-batch is not on its way any more, whichever way it went.
  void finish(std::uint64_t micro_batch);
  /// The micro-batch has come back this way, perhaps late, and perhaps from an earlier sending. It stays on its other
  /// ways.
  void answered(std::uint64_t micro_batch, const Route& route, Instant now);
  /// The rank has dropped the micro-batch, which does not come back that way.
  void dropped(std::uint64_t micro_batch, net::Rank rank);
  /// The micro-batch did not come back within `timeout` on the ways that it is on, and is not on its way any more.
  void overdue(std::uint64_t micro_batch, Instant now, Seconds timeout);
  /// A micro-batch has come back, perhaps late, through the replica of this stage.
  void came_back(std::size_t stage, net::Rank rank, Instant now);
  /// A replica that is mute.
  std::optional<net::Rank> mute() const;
  /// The measured time of a replica for one micro-batch.
  void learn(std::size_t stage, net::Rank rank, Seconds busy);

 private:
  struct Holder {
    net::Rank rank = 0;
    Seconds busy = 0;
    int on_the_way = 0;
    int strikes = 0;  // timeouts with overdue micro-batches, since one came back
    Instant first_strike{}, last_strike{};
    std::optional<Instant> came_back{};  // when the last one did

    bool is_suspect() const { return strikes > 0; }
  };
  void end_ways(std::uint64_t micro_batch, const std::function<bool(const Route&)>& is_over);
  Holder* find(std::size_t stage, net::Rank rank);

  std::vector<std::vector<Holder>> stages_;
  std::multimap<std::uint64_t, Route> on_the_way_;
};

}  // namespace mangrove::infer
