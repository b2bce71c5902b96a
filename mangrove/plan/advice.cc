#include <fmt/format.h>

#include <algorithm>

#include "mangrove/base/format.h"
#include "mangrove/plan/planner.h"

namespace mangrove::plan {
namespace {

std::string why(const Problem& problem, const Plan& plan, const Plan& other) {
  const std::string devices = "with " + format_things(static_cast<std::int64_t>(other.devices()), "device");
  if (problem.objective == Objective::latency)
    return fmt::format("{} a micro-batch takes {}, here {}", devices, format_seconds(other.latency),
                       format_seconds(plan.latency));
  if (problem.objective == Objective::energy)
    return fmt::format("{} a micro-batch takes {} J, here {} J", devices, format_number(other.joules),
                       format_number(plan.joules));
  if (other.period <= plan.period * (1 + 1e-9))
    return fmt::format("{} it would be as fast: {} limits both", devices, plan.limiting);
  return fmt::format("{} {} needs {} for a micro-batch, here {} {}", devices, other.limiting,
                     format_seconds(other.period), plan.limiting, format_seconds(plan.period));
}

Problem with_faster_links(Problem problem) {
  for (Device& device : problem.devices) device.rate *= 2;
  for (auto& [pair, way] : problem.ways) way.rate *= 2;
  return problem;
}

bool has_limited_links(const Problem& problem) {
  return std::ranges::any_of(problem.devices, [](const Device& device) { return device.rate > 0; }) ||
         std::ranges::any_of(problem.ways, [](const auto& way) { return way.second.rate > 0; });
}

/// Another device of the kind, with like ways to all others.
Problem with_one_more(Problem problem, const std::vector<std::size_t>& kind) {
  const std::size_t like = kind.front(), added = problem.devices.size();
  problem.devices.push_back(problem.devices[like]);
  for (std::size_t other = 0; other < added; ++other)
    if (const Way way = problem.way(like, other); other != like && !(way == Way{})) problem.ways[{other, added}] = way;
  if (kind.size() > 1)
    if (const Way way = problem.way(kind[0], kind[1]); !(way == Way{})) problem.ways[{like, added}] = way;
  return problem;
}

}  // namespace

Result<Advice> advise(const Problem& problem, const Plan& plan) {
  Advice advice;
  const bool is_single = plan.devices() == 1;
  if (!is_single || problem.devices.size() > 1) {
    auto other =
        make_plan(problem, is_single ? DeviceRange{.least = 2} : DeviceRange{.least = 1, .most = plan.devices() - 1});
    if (other.ok()) {
      advice.why_it_lost = why(problem, plan, *other);
      advice.runner_up = std::move(other).value();
    } else if (other.code() != Code::resource_exhausted) {
      return other.error();
    } else {
      advice.why_it_lost = is_single ? "no plan of several devices fits" : "fewer devices do not hold the network";
    }
  }
  if (has_limited_links(problem)) {
    MG_TRY(advice.faster_links, make_plan(with_faster_links(problem)));
  }
  const auto kinds = interchangeable(problem);
  const auto common = std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.size(); });
  advice.one_more_kind = problem.devices[common->front()].name;
  auto more = make_plan(with_one_more(problem, *common));
  if (!more.ok() && more.code() != Code::unimplemented) return more.error();
  if (more.ok()) advice.one_more = std::move(more).value();
  return advice;
}

}  // namespace mangrove::plan
