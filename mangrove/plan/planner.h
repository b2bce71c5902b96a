#pragma once

#include <optional>
#include <string>

#include "mangrove/plan/pipeline_search.h"
#include "mangrove/plan/plan.h"

namespace mangrove::plan {

/// The best plan for the problem's objective, of the fewest devices among equals (to 1e-9): the least period; the least
/// latency; or the least energy. Devices that do not help stay out, so no plan is worse than the best single device.
/// Plan::caveat says why something better might exist: where a network has more than Cuts::kMostCuts cuts, where there
/// are too many kinds of devices for stages of several kinds (kMostSteps), or where the search for a sum was given up.
/// cost: 200 layers on 16 devices of four kinds take milliseconds, with memory limits 0.1 s; 16 that all differ, 0.4 s.
/// errors: those of check(Problem); resource_exhausted (it does not fit; says the least memory that would do);
/// unimplemented (more than kMostStates choices of devices).
Result<Plan> make_plan(const Problem& problem, const DeviceRange& range = {});
/// The same for who tries something else where none fits: nothing, and no search for the memory that would do. errors:
/// those of make_plan, but for resource_exhausted.
Result<std::optional<Plan>> find_plan(const Problem& problem, const DeviceRange& range = {});

constexpr std::size_t kMostStates = 1 << 17;  // choices of devices, like ones not told apart: of 17 different devices
constexpr double kMostSteps = 200'000;  // pairs of such a choice and a stage of several kinds: 16 of four kinds make
                                        // 50,625

/// What else could be done.
struct Advice {
  std::optional<Plan> runner_up;  // the best plan with fewer devices; for a plan of one device, with more
  std::string why_it_lost;
  std::optional<Plan> faster_links;  // the plan if every link and way had twice the rate; nothing: none is limited
  std::optional<Plan> one_more;      // with one more device of the most common kind; nothing: too many to plan for
  std::string one_more_kind;         // the name of a device of it
};

/// errors: those of make_plan.
Result<Advice> advise(const Problem& problem, const Plan& plan);

}  // namespace mangrove::plan
