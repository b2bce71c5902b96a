#pragma once

#include <optional>
#include <string>

#include "mangrove/plan/pipeline_search.h"
#include "mangrove/plan/plan.h"

namespace mangrove::plan {

/// The best plan for the problem's objective: the shortest period, the shortest latency, or the least energy. Among
/// equally good plans (to a relative error of 1e-9) it uses the fewest devices. A plan need not use all devices, so no
/// plan is worse than the best single device.
///
/// If the plan may not be the best, Plan::caveat says why. There are three reasons. The network has more than
/// Cuts::kMostCuts cuts. There are too many kinds of devices to try stages whose replicas are of several kinds
/// (kMostSteps). Or the search for the least latency or energy was given up.
/// cost    200 layers on 16 devices of four kinds take milliseconds, or 0.1 s with memory limits; on 16 devices that
///         are all different, 0.4 s.
/// errors  those of check(Problem); resource_exhausted (the network does not fit; says the least memory that would be
///         enough); unimplemented (more than kMostStates choices of devices).
/// source  Narayanan et al., PipeDream, SOSP 2019; Tarnawski et al., Efficient algorithms for device placement of DNN
///         graph operators, NeurIPS 2020.
Result<Plan> make_plan(const Problem& problem, const DeviceRange& range = {});
/// As make_plan(), for a caller that tries something else if no plan fits. Then it returns nothing, and does not search
/// for the memory that would be enough. errors: those of make_plan except resource_exhausted.
Result<std::optional<Plan>> find_plan(const Problem& problem, const DeviceRange& range = {});

constexpr std::size_t kMostStates = 1 << 17;  // choices of devices; equal ones count as one kind: 17 different ones
constexpr double kMostSteps = 200'000;        // pairs of such a choice and a stage of several kinds; 16 devices of four
                                              // kinds have 50,625 pairs

/// Alternatives to a plan.
struct Advice {
  std::optional<Plan> runner_up;  // the best plan with fewer devices; for a plan of one device, with more
  std::string why_it_lost;
  std::optional<Plan> faster_links;  // the plan with every link and way at twice its rate; nothing: none is limited
  std::optional<Plan> one_more;      // the plan with one more device of the most common kind; nothing: too many devices
  std::string one_more_kind;         // the name of a device of that kind
};

/// errors: those of make_plan.
Result<Advice> advise(const Problem& problem, const Plan& plan);

}  // namespace mangrove::plan
