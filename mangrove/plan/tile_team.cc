#include "mangrove/plan/tile_team.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace mangrove::plan {
namespace {

/// Moving boundaries makes plans better by little: a plan that is slower than the best by more will not become the
/// best.
constexpr double kRefinable = 1.05;
constexpr std::size_t kFewKinds = 3;   // of devices, of which any may compute a block alone
constexpr std::size_t kMostEnds = 24;  // of blocks, that are tried

bool has_memory_limits(const TileProblem& problem) {
  return std::ranges::any_of(problem.devices, [](const TileDevice& device) { return device.memory > 0; });
}

}  // namespace

TileScore score_of(const TileRun& run, Objective objective) {
  const Seconds latency = run.latest(), period = run.clock().period();
  return objective == Objective::latency ? TileScore{latency, period} : TileScore{period, latency};
}

TileTeamSearch::TileTeamSearch(TileCosts& costs, const TileLinks& links, std::vector<std::size_t> team)
    : costs_(costs),
      links_(links),
      objective_(costs.problem().objective),
      team_(std::move(team)),
      has_limits_(has_memory_limits(costs.problem())) {
  for (const std::size_t device : team_) {
    const auto is_alike = [&](std::size_t other) { return costs_.kind(other) == costs_.kind(device); };
    if (std::ranges::none_of(distinct_, is_alike)) distinct_.push_back(device);
  }
  add_ends();
  add_grids();
  add_least_rest();
  steps_.resize(grids_.size() * costs_.segments() * (costs_.segments() + 1));
}

/// With too many places for a block to end, those are left out whose values are the largest beside the values around
/// them, within a bottleneck for instance; among equal ones those around which there is least to compute.
void TileTeamSearch::add_ends() {
  for (std::size_t s = 0; s <= costs_.segments(); ++s) ends_.push_back(s);
  const auto elements = [&](std::size_t i) {
    const TileValue& value = costs_.value(ends_[i]);
    return std::max(1.0, static_cast<double>(value.cell * value.plane.area()));
  };
  while (ends_.size() > kMostEnds) {
    const auto badness = [&](std::size_t i) {
      // what cannot be tiled, or leaves no plane, makes a value small wherever blocks end
      const bool is_next_small = costs_.value(ends_[i + 1]).plane.area() == 1;
      const double around = elements(i - 1) * elements(is_next_small ? i : i + 1);
      return std::pair(elements(i) / std::sqrt(around), -costs_.seconds(ends_[i - 1], ends_[i + 1], team_.front()));
    };
    std::size_t worst = 1;
    for (std::size_t i = 2; i + 1 < ends_.size(); ++i)
      if (badness(i) > badness(worst)) worst = i;
    ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(worst));
  }
}

/// The whole team in strips and in grids of at least two rows, half of it in strips, and each device alone.
void TileTeamSearch::add_grids() {
  const std::size_t k = team_.size();
  if (k > 1) grids_.push_back(grid_of(team_, k));
  for (std::size_t rows = 2; rows <= k / 2; ++rows) grids_.push_back(grid_of(team_, rows));
  if (k > 3) grids_.push_back(grid_of(std::span(team_).first(k / 2), k / 2));
  for (const std::size_t device : alone()) grids_.push_back({{device}});
}

/// All where the network may become a pipeline, because of memory or the period; else, of many kinds, the fastest for
/// some segment.
std::vector<std::size_t> TileTeamSearch::alone() const {
  if (has_limits_ || objective_ == Objective::throughput) return team_;
  if (distinct_.size() <= kFewKinds) return distinct_;
  std::set<std::size_t> fastest;
  for (std::size_t s = 0; s < costs_.segments(); ++s)
    fastest.insert(
        *std::ranges::min_element(distinct_, {}, [&](auto device) { return costs_.seconds(s, s + 1, device); }));
  return {fastest.begin(), fastest.end()};
}

/// As if all devices shared each operator without halos and messages.
void TileTeamSearch::add_least_rest() {
  least_rest_.assign(costs_.segments() + 1, 0);
  for (std::size_t s = costs_.segments(); s-- > 0;) {
    least_rest_[s] = least_rest_[s + 1];
    for (std::size_t i = costs_.first_operator(s); i < costs_.first_operator(s + 1); ++i) {
      double speed = 0, fastest = 0;
      for (const std::size_t device : team_) {
        const double of_device = 1 / costs_.problem().devices[device].seconds[i];  // infinite: free
        speed += of_device;
        fastest = std::max(fastest, of_device);
      }
      least_rest_[s] += 1 / (costs_.can_be_tiled(s, s + 1) ? speed : fastest);
    }
  }
}

const std::optional<DividedStep>& TileTeamSearch::step(std::size_t grid, std::size_t first, std::size_t last) {
  auto& known = steps_[(grid * costs_.segments() + first) * (costs_.segments() + 1) + last];
  if (known) return *known;
  known.emplace();
  const bool is_whole = devices_of(grids_[grid]) == 1;
  if (!is_whole && !costs_.can_be_tiled(first, last)) return *known;
  // a longer block has more halo: it is no better than one that is hopeless
  const std::size_t next = *std::ranges::upper_bound(ends_, first);
  if (!is_whole && next < last && !step(grid, next, last)) return *known;
  *known = balanced_step(costs_, first, last, grids_[grid]);
  if (*known && is_hopeless(least_rest_.front() - least_rest_[first], (*known)->step)) known->reset();
  return *known;
}

/// What is divided after it was on one device would mostly have been divided before, so that is tried only at the
/// beginning and behind what cannot be tiled.
bool TileTeamSearch::may_follow(const Beginning& before, std::size_t grid, std::size_t first) const {
  const auto has = [&](const auto& row) { return std::ranges::count(row, before.run.source()) > 0; };
  if (before.grid == kNone) return std::ranges::any_of(grids_[grid], has);
  if (devices_of(grids_[before.grid]) > 1) return true;
  if (devices_of(grids_[grid]) == 1) return grid != before.grid;
  return !costs_.can_be_tiled(first - 1, first);
}

/// A block that begins at a time, or later: whether no plan with it is good enough.
bool TileTeamSearch::is_hopeless(Seconds begin, const TileStep& step) const {
  Seconds longest = 0;
  for (const TileTask& task : step.tasks) longest = std::max(longest, task.cost.seconds);
  if (objective_ == Objective::throughput) return longest > bound_;
  return begin + longest + least_rest_[step.last] > bound_;
}

void TileTeamSearch::extend(std::size_t before, std::size_t grid, std::size_t first, std::size_t last) {
  const std::optional<DividedStep>& next = step(grid, first, last);
  if (!next) return;
  extend(before, grid, *next);
  if (first == 0 && next->step.is_tiled()) {
    // devices other than the source wait for the micro-batch
    if (auto later = balanced_step(costs_, first, last, grids_[grid], {&beginnings_[before].run}))
      extend(before, grid, special_steps_.emplace_back(std::move(*later)));
  } else if (first > 0 && !next->step.is_tiled()) {
    const std::size_t other = gathering(before, next->step.tasks.front().device);
    if (other != kNone) extend(other, grid, *next);
  }
}

/// A beginning like this one, whose last block is divided so that one device gets all of it soon. kNone: none.
std::size_t TileTeamSearch::gathering(std::size_t beginning, std::size_t device) {
  const auto [known, is_new] = gatherings_.try_emplace({beginning, device}, kNone);
  const auto [grid, previous, last] =
      std::tuple(beginnings_[beginning].grid, beginnings_[beginning].previous, beginnings_[beginning].step);
  if (!is_new || !last->step.is_tiled()) return known->second;
  auto step =
      balanced_step(costs_, last->step.first, last->step.last, grids_[grid], {&beginnings_[previous].run, device});
  if (!step) return kNone;
  Beginning changed{beginnings_[previous].run, grid, previous, &special_steps_.emplace_back(std::move(*step)), {}};
  changed.run.advance(changed.step->step);
  known->second = beginnings_.size();
  beginnings_.push_back(std::move(changed));
  return known->second;
}

void TileTeamSearch::extend(std::size_t before, std::size_t grid, const DividedStep& next) {
  const std::size_t last = next.step.last;
  if (is_hopeless(beginnings_[before].run.earliest(), next.step)) return;
  Beginning beginning{beginnings_[before].run, grid, before, &next, {}};
  beginning.run.advance(next.step);
  if (last == costs_.segments()) beginning.run.finish();
  if (has_limits_ && beginning.run.memory_share() > 1) return;
  beginning.score = score_of(beginning.run, objective_);
  if (beginning.score.first > bound_) return;
  if (last == costs_.segments()) bound_ = std::min(bound_, beginning.score.first * kRefinable);
  keep(grid, last, std::move(beginning));
}

void TileTeamSearch::keep(std::size_t grid, std::size_t last, Beginning beginning) {
  std::vector<std::size_t>& kept = kept_[last][grid];
  const auto place =
      std::ranges::upper_bound(kept, beginning.score, {}, [&](std::size_t other) { return beginnings_[other].score; });
  if (place == kept.end() && kept.size() >= width_ && !has_limits_) return;
  kept.insert(place, beginnings_.size());
  beginnings_.push_back(std::move(beginning));
  if (kept.size() <= width_ + (has_limits_ ? 1 : 0)) return;
  // the one that needs the least memory may be the only one that can be continued
  const auto share = [&](std::size_t other) { return beginnings_[other].run.memory_share(); };
  const bool last_is_needed = has_limits_ && std::ranges::min_element(kept, {}, share) == kept.end() - 1;
  kept.erase(kept.end() - (last_is_needed ? 2 : 1));
}

TileCandidate TileTeamSearch::candidate(std::size_t end) const {
  TileCandidate found{beginnings_[end].run.source(), {}, beginnings_[end].score};
  for (std::size_t at = end; beginnings_[at].step != nullptr; at = beginnings_[at].previous)
    found.steps.push_back(*beginnings_[at].step);
  std::ranges::reverse(found.steps);
  return found;
}

std::vector<TileCandidate> TileTeamSearch::find(std::span<const std::size_t> sources, std::size_t width,
                                                Seconds bound) {
  width_ = width;
  bound_ = bound;
  beginnings_.clear();
  gatherings_.clear();
  special_steps_.clear();
  kept_.assign(costs_.segments() + 1, std::vector<std::vector<std::size_t>>(grids_.size()));
  std::vector<std::size_t> at_cut;
  for (const std::size_t source : sources) {
    at_cut.push_back(beginnings_.size());
    beginnings_.push_back({TileRun(costs_, links_, source), kNone, kNone, nullptr, {}});
  }
  for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
    for (const std::size_t before : at_cut)
      for (std::size_t grid = 0; grid < grids_.size(); ++grid)
        if (may_follow(beginnings_[before], grid, ends_[i]))
          for (std::size_t last = i + 1; last < ends_.size(); ++last) extend(before, grid, ends_[i], ends_[last]);
    at_cut.clear();
    for (const auto& kept : kept_[ends_[i + 1]]) at_cut.insert(at_cut.end(), kept.begin(), kept.end());
  }
  std::ranges::sort(at_cut, {}, [&](std::size_t end) { return beginnings_[end].score; });
  std::vector<TileCandidate> found;
  for (const std::size_t end : at_cut)
    if (found.size() < width) found.push_back(candidate(end));
  return found;
}

}  // namespace mangrove::plan
