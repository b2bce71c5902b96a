#include "mangrove/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "mangrove/plan/sum_search.h"

namespace mangrove::plan {
namespace {

constexpr Seconds kForever = std::numeric_limits<double>::infinity();
constexpr double kPrecision = 1e-9;     // of the period
constexpr double kSumRounding = 1e-12;  // of sums

using Kinds = std::vector<std::vector<std::size_t>>;

/// The teams that a stage may have: of all kinds, or else, where these are too many or ways matter, of one kind each.
std::vector<Team> possible_teams(const Problem& problem, const Counts& counts, bool mixed) {
  const std::size_t most = problem.most_replicas == 0 ? problem.devices.size() : problem.most_replicas;
  std::vector<Team> teams;
  for (std::size_t state = 1; mixed && state < counts.states(); ++state) {
    Team team{{}, counts.total(state), state};
    for (std::size_t kind = 0; kind < counts.kinds(); ++kind)
      if (const std::size_t count = counts.of(state, kind); count > 0) team.members.push_back({kind, count});
    if (team.devices <= most) teams.push_back(std::move(team));
  }
  for (std::size_t kind = 0; !mixed && kind < counts.kinds(); ++kind)
    for (std::size_t count = 1; count <= std::min(most, counts.size(kind)); ++count)
      teams.push_back({{{kind, count}}, count, count * counts.stride(kind)});
  return teams;
}

/// A problem with what every search of it needs.
class Planner {
 public:
  explicit Planner(const Problem& problem)
      : problem_(problem),
        kinds_(interchangeable(problem)),
        costs_(problem, kinds_),
        search_(problem, kinds_, costs_, make_teams()) {}

  /// Nothing: none fits the devices' memory.
  Result<std::optional<Plan>> make(const DeviceRange& range) {
    MG_TRY(std::optional<Plan> plan, problem_.objective == Objective::throughput ? fastest(range) : least_sum(range));
    if (plan && !costs_.cuts().all())
      plan->caveat = fmt::format(
          "the network has more than {} cuts; only those along the order of its layers were tried", Cuts::kMostCuts);
    else if (plan && is_restricted_ && problem_.objective == Objective::throughput &&
             plan->period > least_period() * (1 + kPrecision))
      plan->caveat = "replicas of a stage were devices of one kind each, but for the whole network on all of them";
    return plan;
  }

  bool fits() { return search_.find(kForever, {}).has_value(); }

 private:
  std::vector<Team> make_teams() {
    std::vector<Team> mixed = possible_teams(problem_, costs_.counts(), true);
    const bool has_mixed = std::ranges::any_of(mixed, [](const Team& team) { return team.members.size() > 1; });
    is_restricted_ = has_mixed && (!problem_.ways.empty() || mixed_steps() > kMostSteps);
    return is_restricted_ ? possible_teams(problem_, costs_.counts(), false) : std::move(mixed);
  }

  /// Pairs of a choice of devices and a team of others.
  double mixed_steps() const {
    double steps = 1;
    for (const auto& kind : kinds_) steps *= static_cast<double>((kind.size() + 1) * (kind.size() + 2)) / 2;
    return steps;
  }

  Result<Plan> priced(const PipelineSearch::Pipeline& pipeline) { return price(problem_, search_.parts(pipeline)); }

  /// No plan has a shorter period, whatever its links.
  Seconds least_period() const {
    double work_a_second = 0;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      work_a_second += static_cast<double>(kinds_[kind].size()) * costs_.most_work(kind);
    return costs_.work(costs_.cuts().last()) / work_a_second;
  }

  /// By halving the interval that holds the least period; its lower end moves on to the next period that a stage or a
  /// way can have.
  Result<std::optional<Plan>> fastest(const DeviceRange& range) {
    auto best = search_.find(kForever, range);
    if (!best) return std::optional<Plan>();
    MG_TRY(Plan plan, priced(*best));
    Seconds low = least_period(), period = low * (1 + kPrecision / 2);
    while (plan.period > low * (1 + kPrecision)) {
      if (auto found = search_.find(period, range)) {
        MG_TRY(plan, priced(*found));
        best = std::move(found);
      } else {
        low = std::min(search_.least_possible() * (1 - kSumRounding), plan.period);
      }
      period = (low + plan.period) / 2;
    }
    MG_TRY(plan, priced(search_.soonest(*best, plan.period * (1 + kSumRounding))));
    if (is_restricted_)
      if (std::optional<Plan> other = everywhere(range); other && other->period < plan.period * (1 - kPrecision))
        plan = std::move(*other);
    return std::optional<Plan>(std::move(plan));
  }

  /// The whole network on every device that holds it, as replicas of one stage.
  std::optional<Plan> everywhere(const DeviceRange& range) const {
    Part all{costs_.cuts().layers(0, costs_.cuts().last()), {}};
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      if (costs_.fits({{{kind, 1}}, 1, 0}, 0, costs_.cuts().last(), 0))
        all.devices.insert(all.devices.end(), kinds_[kind].begin(), kinds_[kind].end());
    std::ranges::sort(all.devices);
    const std::size_t most = problem_.most_replicas == 0 ? range.most : std::min(range.most, problem_.most_replicas);
    if (all.devices.size() < range.least || all.devices.size() > most) return std::nullopt;
    Result<Plan> plan = price(problem_, {all});
    return plan.ok() ? std::optional<Plan>(std::move(*plan)) : std::nullopt;
  }

  Result<std::optional<Plan>> least_sum(const DeviceRange& range) {
    const SumSearch::Found found = SumSearch(problem_, kinds_, costs_, range).find();
    if (!found.parts.empty()) {
      MG_TRY(Plan plan, price(problem_, found.parts));
      if (!found.is_best) plan.caveat = "the search was given up: too many kinds of devices with too little memory";
      return std::optional<Plan>(std::move(plan));
    }
    if (found.is_best) return std::optional<Plan>();
    const auto any = search_.find(kForever, range);
    if (!any) return std::optional<Plan>();
    MG_TRY(Plan plan, priced(*any));
    plan.caveat = "the search was given up: too many kinds of devices with too little memory";
    return std::optional<Plan>(std::move(plan));
  }

  const Problem& problem_;
  const Kinds kinds_;
  const StageCosts costs_;
  bool is_restricted_ = false;
  PipelineSearch search_;
};

/// The least memory that each limited device must have for any plan to fit. Nothing: more than can be told.
std::optional<Bytes> least_memory(const Problem& problem) {
  Problem changed = problem;
  const auto fits = [&](Bytes memory) {
    for (std::size_t d = 0; d < changed.devices.size(); ++d)
      if (problem.devices[d].memory > 0) changed.devices[d].memory = std::max(problem.devices[d].memory, memory);
    return Planner(changed).fits();
  };
  constexpr Bytes kMost = Bytes{1} << 60;
  Bytes low = 0, high = 1 << 20;  // low is too little
  for (; !fits(high); high *= 2) {
    if (high == kMost) return std::nullopt;
    low = high;
  }
  const Bytes precision = std::max<Bytes>(high / 4096, 1);
  while (high - low > precision) {
    const Bytes middle = low + (high - low) / 2;
    fits(middle) ? high = middle : low = middle;
  }
  return high;
}

Error does_not_fit(const Problem& problem) {
  const std::string what = "network '" + problem.network.name + "' fits no plan";
  const std::optional<Bytes> least = least_memory(problem);
  if (!least) return make_error(Code::resource_exhausted, what + ", however much memory the devices have");
  const Bytes unit = *least < 10'000'000 ? 1'000 : 1'000'000;
  return make_error(Code::resource_exhausted, fmt::format("{}: with {} {} on each device one would", what,
                                                          (*least + unit - 1) / unit, unit == 1'000 ? "kB" : "MB"));
}

}  // namespace

Result<std::optional<Plan>> find_plan(const Problem& problem, const DeviceRange& range) {
  MG_RETURN_IF_ERROR(check(problem));
  const Kinds kinds = interchangeable(problem);
  if (Counts::exceeds(kinds, kMostStates))
    return make_error(Code::unimplemented,
                      fmt::format("{} devices of {} kinds can be chosen in more than {} ways: too many to plan for",
                                  problem.devices.size(), kinds.size(), kMostStates));
  return Planner(problem).make(range);
}

Result<Plan> make_plan(const Problem& problem, const DeviceRange& range) {
  MG_TRY(std::optional<Plan> plan, find_plan(problem, range));
  if (plan) return std::move(*plan);
  if (range.least > 1 || range.most < problem.devices.size())
    return make_error(Code::resource_exhausted, "no plan of so many devices fits their memory");
  return does_not_fit(problem);
}

}  // namespace mangrove::plan
