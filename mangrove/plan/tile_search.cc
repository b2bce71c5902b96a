#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "mangrove/plan/figures.h"
#include "mangrove/plan/tile_refinement.h"
#include "mangrove/plan/tiles.h"

namespace mangrove::plan {
namespace {

constexpr Seconds kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kFinalTeams = 3;  // for the latency, that are planned carefully
constexpr std::size_t kFinalWidth = 4;  // of that, see TileTeamSearch::find
// What is tried takes longer with more devices, and tells less: small planes of few devices divide badly.
constexpr std::size_t kRefined = 24;    // plans of a team that are refined, divided by the number of devices
constexpr double kTeamSlack = 0.4;      // how much slower a first plan may be than the best, likewise
constexpr std::size_t kFewSources = 3;  // all of which are tried; of more, the fastest device and the fastest link
constexpr std::size_t kMostTeams = 60;  // for the throughput, that are planned before devices stop changing teams

using TileTeam = std::vector<std::size_t>;  // ascending
using TileTeams = std::vector<TileTeam>;

/// So many devices in each team, dealt out in turn, so that teams are about equally fast.
TileTeams dealt_out(std::span<const std::size_t> fastest_first, std::size_t size) {
  TileTeams teams((fastest_first.size() + size - 1) / size);
  for (std::size_t i = 0; i < fastest_first.size(); ++i) teams[i % teams.size()].push_back(fastest_first[i]);
  for (TileTeam& team : teams) std::ranges::sort(team);
  return teams;
}

TileTeam without(TileTeam team, std::size_t device) {
  std::erase(team, device);
  return team;
}

TileTeam with(TileTeam team, std::size_t device) {
  team.insert(std::ranges::upper_bound(team, device), device);
  return team;
}

/// Plans a problem for either objective. Each team is planned once.
class TileSearch {
 public:
  explicit TileSearch(const TileProblem& problem) : costs_(problem), links_(problem) {
    for (std::size_t d = 0; d < problem.devices.size(); ++d) fastest_first_.push_back(d);
    const auto seconds = [&](std::size_t d) { return costs_.seconds(0, costs_.segments(), d); };
    std::ranges::stable_sort(fastest_first_, {}, seconds);
  }

  /// The plan with the least latency; nothing where none fits. Teams are the fastest devices; where ways differ, those
  /// nearest to each device; and what becomes of the best of these by taking devices out and in, one at a time.
  std::optional<TileCandidate> soonest() {
    for (const std::size_t device : fastest_first_) try_latency({device});
    try_beginnings(fastest_first_);
    for (std::size_t d = 0; !costs_.problem().ways.empty() && d < fastest_first_.size(); ++d) {
      std::vector<std::size_t> nearest_first = fastest_first_;
      const auto distance = [&](std::size_t other) { return other == d ? 0 : links_.message_time(d, other, MiB(1)); };
      std::ranges::stable_sort(nearest_first, {}, distance);
      try_beginnings(nearest_first);
    }
    while (change_best_team()) continue;
    std::vector<std::pair<Seconds, TileTeam>> teams;
    for (const auto& [team, latency] : latencies_)
      if (latency < kNever) teams.emplace_back(latency, team);
    std::ranges::sort(teams);
    std::optional<TileCandidate> best;
    for (std::size_t i = 0; i < std::min(teams.size(), kFinalTeams); ++i)
      if (auto plan = carefully_planned(teams[i].second, soonest_ * slack()))
        if (!best || plan->score < best->score) best = std::move(plan);
    return best;
  }

  /// The plans of teams that answer most micro-batches a second; none where nothing fits. Teams are single devices,
  /// equally many devices, and what becomes of the best of these when devices change teams, one at a time.
  std::vector<TileCandidate> most_frequent() {
    TileTeams best;
    for (TileTeams& teams : first_teams())
      if (best.empty() || rate(teams) > rate(best)) best = std::move(teams);
    while (change_teams(best)) continue;
    std::vector<TileCandidate> plans;
    for (const TileTeam& team : best)
      if (const auto& plan = plan_for_period(team)) plans.push_back(*plan);
    std::ranges::sort(plans, {}, &TileCandidate::score);
    return plans;
  }

  /// Whether any plan fits the devices' memory.
  bool fits() {
    const auto fits = [&](const TileTeam& team) { return quickly_planned(team, kNever).has_value(); };
    return fits(fastest_first_) || std::ranges::any_of(fastest_first_, [&](std::size_t d) { return fits({d}); });
  }

  /// The least memory that would let a device with a limit compute the whole network.
  Bytes least_of_one_device() {
    Bytes least = kMostMemory;
    for (const std::size_t device : fastest_first_) {
      if (costs_.problem().devices[device].memory == 0) continue;
      TileRun run(costs_, links_, device);
      run.advance(whole_step(costs_, 0, costs_.segments(), device));
      least = std::min(least, run.memory(device));
    }
    return least;
  }

 private:
  /// A plan that first is slower than the best by more does not become the best.
  double slack() const { return 1 + kTeamSlack / static_cast<double>(fastest_first_.size()); }

  TileTeamSearch search(const TileTeam& team) {
    std::vector<std::size_t> ordered;
    for (const std::size_t device : fastest_first_)
      if (std::ranges::count(team, device) > 0) ordered.push_back(device);
    return TileTeamSearch(costs_, links_, std::move(ordered));
  }

  /// A first plan; nothing: none fits, or it is slower than the bound.
  std::optional<TileCandidate> quickly_planned(const TileTeam& team, Seconds bound) {
    TileTeamSearch search = this->search(team);
    std::vector<TileCandidate> plans = search.find(search.distinct(), 1, bound);
    return plans.empty() ? std::nullopt : std::optional(std::move(plans.front()));
  }

  /// The best of several plans, which are refined, with different devices as the source.
  std::optional<TileCandidate> carefully_planned(const TileTeam& team, Seconds bound) {
    TileTeamSearch search = this->search(team);
    std::vector<TileCandidate> plans;
    const auto plan_from = [&](std::span<const std::size_t> sources) {
      std::ranges::move(search.find(sources, kFinalWidth, bound), std::back_inserter(plans));
    };
    const std::vector<std::size_t>& devices = search.distinct();
    const std::size_t best_link =
        *std::ranges::min_element(devices, {}, [&](std::size_t device) { return links_.link_byte(device); });
    plan_from(devices);
    for (const std::size_t source : devices)
      if (devices.size() <= kFewSources || source == devices.front() || source == best_link) plan_from({&source, 1});
    std::ranges::stable_sort(plans, {}, &TileCandidate::score);
    plans.resize(std::min(plans.size(), std::max<std::size_t>(kRefined / fastest_first_.size(), 2)));
    for (TileCandidate& plan : plans) plan = TileRefinement(costs_, links_, std::move(plan)).run();
    const auto best = std::ranges::min_element(plans, {}, &TileCandidate::score);
    return best == plans.end() ? std::nullopt : std::optional(std::move(*best));
  }

  /// The same team with the first devices of each kind, so that no equal teams are tried.
  TileTeam with_first_of_kinds(const TileTeam& team) const {
    std::map<std::size_t, std::size_t> wanted;
    for (const std::size_t device : team) ++wanted[costs_.kind(device)];
    TileTeam first;
    for (std::size_t d = 0; d < fastest_first_.size(); ++d) {
      std::size_t& of_kind = wanted[costs_.kind(d)];
      if (of_kind == 0) continue;
      --of_kind;
      first.push_back(d);
    }
    return first;
  }

  Seconds try_latency(const TileTeam& devices) {
    const TileTeam team = with_first_of_kinds(devices);
    const auto [known, is_new] = latencies_.try_emplace(team, kNever);
    if (!is_new) return known->second;
    if (const auto plan = quickly_planned(team, soonest_ * slack())) known->second = plan->score.first;
    soonest_ = std::min(soonest_, known->second);
    return known->second;
  }

  /// So many of the first devices, for each number from 2.
  void try_beginnings(const std::vector<std::size_t>& devices) {
    TileTeam team = {devices.front()};
    for (std::size_t i = 1; i < devices.size(); ++i) {
      team = with(std::move(team), devices[i]);
      try_latency(team);
    }
  }

  bool change_best_team() {
    const auto& [team, latency] =
        *std::ranges::min_element(latencies_, {}, [](const auto& each) { return each.second; });
    for (const std::size_t device : fastest_first_) {
      const bool is_in = std::ranges::count(team, device) > 0;
      const TileTeam changed = is_in ? without(team, device) : with(team, device);
      if (!changed.empty() && try_latency(changed) < latency) return true;
    }
    return false;
  }

  /// A team must answer more often than its devices would alone.
  const std::optional<TileCandidate>& plan_for_period(const TileTeam& team) {
    const auto [known, is_new] = plans_.try_emplace(team);
    if (!is_new) return known->second;
    double alone = 0;
    for (const std::size_t device : team) alone += team.size() > 1 ? rate({{device}}) : 0;
    return known->second = carefully_planned(team, 1 / alone);  // infinite: no bound
  }

  /// Micro-batches a second.
  double rate(const TileTeams& teams) {
    double sum = 0;
    for (const TileTeam& team : teams)
      if (const auto& plan = plan_for_period(team)) sum += 1 / plan->score.first;
    return sum;
  }

  std::vector<TileTeams> first_teams() {
    std::vector<TileTeams> all;
    for (std::size_t size = 1; size <= fastest_first_.size(); ++size) all.push_back(dealt_out(fastest_first_, size));
    std::vector<std::size_t> others;
    TileTeams alone;
    for (const std::size_t device : fastest_first_)
      plan_for_period({device}) ? alone.push_back({device}) : others.push_back(device);
    for (std::size_t size = 2; !alone.empty() && size <= others.size(); ++size) {
      all.push_back(dealt_out(others, size));
      all.back().insert(all.back().end(), alone.begin(), alone.end());
    }
    return all;
  }

  /// Moves one device to another team, or away from its team, if more micro-batches are answered then.
  bool change_teams(TileTeams& teams) {
    const double before = rate(teams);
    for (std::size_t from = 0; from < teams.size(); ++from) {
      for (const std::size_t device : TileTeam(teams[from])) {
        for (std::size_t to = 0; to <= teams.size() && plans_.size() < kMostTeams; ++to) {
          if (to == from) continue;
          TileTeams changed = teams;
          changed.resize(std::max(teams.size(), to + 1));
          changed[from] = without(changed[from], device);
          changed[to] = with(changed[to], device);
          std::erase(changed, TileTeam());
          if (rate(changed) <= before) continue;
          teams = std::move(changed);
          return true;
        }
      }
    }
    return false;
  }

  TileCosts costs_;
  const TileLinks links_;
  std::vector<std::size_t> fastest_first_;
  std::map<TileTeam, Seconds> latencies_;  // of teams that were tried; kNever: it fits no plan, or is much slower
  Seconds soonest_ = kNever;
  std::map<TileTeam, std::optional<TileCandidate>> plans_;  // for the throughput
};

Result<TilePlan> priced(const TileProblem& problem, const TileCandidate& plan) {
  const TileCosts costs(problem);
  std::vector<TileBlock> blocks;
  for (const auto& [step, division] : plan.steps) {
    TileBlock& block = blocks.emplace_back();
    block.first = costs.first_operator(step.first);
    block.last = costs.first_operator(step.last);
    for (const TileTask& task : step.tasks) block.parts.push_back({task.device, task.output});
  }
  return price_tiles(problem, plan.source, std::move(blocks));
}

/// Says the least memory of each device with a limit that would let the search find a plan.
Error fits_no_devices(const TileProblem& problem) {
  TileProblem changed = problem;
  const auto fits = [&](Bytes memory) {
    for (std::size_t d = 0; d < changed.devices.size(); ++d)
      if (problem.devices[d].memory > 0) changed.devices[d].memory = std::max(problem.devices[d].memory, memory);
    return TileSearch(changed).fits();
  };
  Bytes low = 0, high = TileSearch(problem).least_of_one_device();  // low is too little
  const Bytes precision = std::max<Bytes>(high / 128, 1);
  while (high - low > precision) {
    const Bytes middle = low + (high - low) / 2;
    fits(middle) ? high = middle : low = middle;
  }
  const Bytes unit = high < 10'000'000 ? 1'000 : 1'000'000;
  return make_error(Code::resource_exhausted,
                    fmt::format("network '{}' fits no team: with {} {} on each device one would", problem.graph.name(),
                                (high + unit - 1) / unit, unit == 1'000 ? "kB" : "MB"));
}

}  // namespace

Result<std::vector<TilePlan>> plan_tiles(const TileProblem& problem) {
  MG_RETURN_IF_ERROR(check(problem));
  std::vector<TileCandidate> found;
  if (TileSearch search(problem); problem.objective == Objective::throughput) {
    found = search.most_frequent();
  } else if (std::optional<TileCandidate> best = search.soonest()) {
    found.push_back(std::move(*best));
  }
  if (found.empty()) return fits_no_devices(problem);
  std::vector<TilePlan> plans;
  for (const TileCandidate& plan : found) {
    MG_TRY(TilePlan one, priced(problem, plan));
    plans.push_back(std::move(one));
  }
  return plans;
}

}  // namespace mangrove::plan
