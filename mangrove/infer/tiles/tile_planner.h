#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/plan/revision.h"
#include "mangrove/plan/tiles.h"

namespace mangrove::infer {

/// The teams of a job, and who their devices are.
struct TileTeams {
  std::vector<plan::TilePlan> teams;
  net::RankSet ranks;  // of each device of the plans; those without a tile too

  net::Rank rank(std::size_t device) const { return ranks[device]; }
  /// Of a team; of all of them.
  net::RankSet members(const plan::TilePlan& team) const;
  net::RankSet members() const;
  /// Predicted micro-batches a second.
  double rate() const;
};

/// Plans the tiles of a job, and plans again when the measured work of its devices is not what was predicted. Plans
/// take each device to have its cores to itself.
///
/// hysteresis  A device has drifted (plan::is_drift) if the median of its work in kRound micro-batches has, in two
///             rounds in succession. Another plan is used if it promises to be kSpeedup times as good as the plan in
///             use is by the new figures, and if more than a round of micro-batches is still to come. After a plan was
///             not changed, the next look comes twice as late.
/// No input or output; threads: one at a time.
class TilePlanner {
 public:
  static constexpr int kRound = 8;
  static constexpr double kSpeedup = 1.1;

  /// measured: at least one device. graph must outlive this object.
  TilePlanner(const Graph& graph, std::vector<DeviceProfile> measured, const InferJob& job);

  /// A plan for these ranks, by the present figures. One that came too late to be measured gets the figures of the
  /// first other one. errors: those of plan::plan_tiles.
  Result<TileTeams> plan(const net::RankSet& ranks) const;

  /// A plan begins: measurements of another one are dropped.
  void begin();
  /// What the ranks have done for a micro-batch.
  void add(const TileTeams& teams, std::span<const TileTrace* const> traces);
  /// A plan for these ranks that is worth a change. Most calls do not look and return nothing. left: micro-batches
  /// still to come; nothing: not known.
  std::optional<TileTeams> revise(const TileTeams& teams, const net::RankSet& ranks, std::optional<std::int64_t> left);

 private:
  using Factors = std::map<net::Rank, double>;
  std::optional<TileTeams> better(const TileTeams& teams, const net::RankSet& ranks,
                                  const std::vector<DeviceProfile>& now) const;
  bool rescale(const Factors& factors, std::vector<DeviceProfile>& devices) const;
  plan::TileProblem problem(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) const;
  Result<TileTeams> plan_for(const std::vector<DeviceProfile>& measured, const net::RankSet& ranks) const;
  double goodness(const TileTeams& teams) const;

  const Graph& graph_;
  const std::int64_t micro_batch_;
  const std::string activations_;
  const std::string tiling_;
  const plan::Objective objective_;
  std::vector<DeviceProfile> devices_;              // the present figures
  std::map<net::Rank, std::vector<double>> round_;  // measured work by predicted work, of each micro-batch
  Factors factors_;                                 // of the last round; empty: there was none
  int rounds_to_wait_ = 0, backoff_ = 1;
};

}  // namespace mangrove::infer
