#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mangrove/plan/tile_division.h"

namespace mangrove::plan {

/// What a plan is judged by, the less the better: the time that the objective asks for, then the other one.
struct TileScore {
  Seconds first = 0, second = 0;
  auto operator<=>(const TileScore&) const = default;
};
TileScore score_of(const TileRun& run, Objective objective);

/// A plan of a team as the search sees it.
struct TileCandidate {
  std::size_t source = 0;
  std::vector<DividedStep> steps;
  TileScore score;
};

/// Finds good plans of a team: where blocks end, and which devices of the team compute them in which grid. It is a
/// dynamic program over the ends of blocks. For each end and each grid of the last block, it keeps the few beginnings
/// of plans whose time so far is the shortest, and continues them with every block and grid. Times are those of
/// TileRun, so waiting and links count exactly; but the beginning that is best so far need not be that of the best
/// plan. threads: one at a time.
class TileTeamSearch {
 public:
  /// team: devices, the fastest first; at least one. costs, links: must outlive it.
  TileTeamSearch(TileCosts& costs, const TileLinks& links, std::vector<std::size_t> team);

  /// The best plans found, at most `width`, the best first; none where nothing fits, or where all are slower than
  /// `bound`. sources: devices of the team that may have the samples. width: the beginnings that are kept.
  std::vector<TileCandidate> find(std::span<const std::size_t> sources, std::size_t width, Seconds bound);
  /// The first of the team's devices of each kind.
  const std::vector<std::size_t>& distinct() const { return distinct_; }

 private:
  /// A beginning of a plan.
  struct Beginning {
    TileRun run;
    std::size_t grid;      // of the last block; kNone: no block yet
    std::size_t previous;  // the beginning without the last block
    const DividedStep* step;
    TileScore score;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void add_ends();
  void add_grids();
  std::vector<std::size_t> alone() const;
  void add_least_rest();
  const std::optional<DividedStep>& step(std::size_t grid, std::size_t first, std::size_t last);
  bool may_follow(const Beginning& before, std::size_t grid, std::size_t first) const;
  bool is_hopeless(Seconds begin, const TileStep& step) const;
  void extend(std::size_t before, std::size_t grid, std::size_t first, std::size_t last);
  void extend(std::size_t before, std::size_t grid, const DividedStep& next);
  std::size_t gathering(std::size_t beginning, std::size_t device);
  void keep(std::size_t grid, std::size_t last, Beginning beginning);
  TileCandidate candidate(std::size_t end) const;

  TileCosts& costs_;
  const TileLinks& links_;
  const Objective objective_;
  const std::vector<std::size_t> team_;
  const bool has_limits_;  // of memory
  std::vector<std::size_t> distinct_;
  std::vector<std::size_t> ends_;  // segments at which a block may begin or end
  std::vector<TileGrid> grids_;
  std::vector<Seconds> least_rest_;                               // from each segment: no plan computes the rest sooner
  std::vector<std::optional<std::optional<DividedStep>>> steps_;  // of each grid and block, once it was asked for
  // of one call of find():
  std::size_t width_ = 1;
  Seconds bound_ = 0;
  std::vector<Beginning> beginnings_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> gatherings_;  // see gathering()
  std::deque<DividedStep> special_steps_;                    // which depend on what is before them, and behind them
  std::vector<std::vector<std::vector<std::size_t>>> kept_;  // at each end, for each grid, the best first
};

}  // namespace mangrove::plan
