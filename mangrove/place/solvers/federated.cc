#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/place/federation/domain.h"
#include "mangrove/place/federation/market.h"
#include "mangrove/place/federation/split.h"
#include "mangrove/place/placement_milp.h"
#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

constexpr double kLargestDomain = 100'000;  // columns

/// What domains need prices of: all measures that add up over them.
Objective priced(const Objective& objective) {
  Objective::Level terms;
  for (const MeasureRow& row : measures())
    for (const auto& measure : Goods::kMeasures)
      if (row.value == measure && objective.uses(measure)) terms.push_back({&row, 1});
  return {{std::move(terms)}};
}

Status check_size(const Split& split, const std::vector<std::unique_ptr<Domain>>& domains) {
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const double size = PlacementMilp::size_of(domains[d]->problem(), domains[d]->problem().candidates());
    if (size > kLargestDomain)
      return make_error(
          Code::resource_exhausted,
          fmt::format("the solver 'federated' takes {} columns at most in a domain, the domain '{}' has {}: use "
                      "'decomposition'",
                      format_count(static_cast<std::int64_t>(kLargestDomain)), split.names[d], format_number(size)));
  }
  return {};
}

}  // namespace

Result<Solution> solve_federated(const Problem& problem, const SolveOptions& options) {
  MG_TRY(Split split, place::split(problem));
  Problem outline(split.outline);
  if (!problem.before().devices.empty())
    outline.set_before({Placement(problem.parts().size(), kNowhere), problem.before().most_moves});
  std::vector<std::unique_ptr<Domain>> domains;
  std::vector<Bidder*> bidders;
  for (Split::Part& part : split.domains) {
    domains.push_back(
        std::make_unique<Domain>(std::move(part.scenario), std::move(part.before), priced(options.objective)));
    bidders.push_back(domains.back().get());
  }
  MG_RETURN_IF_ERROR(check_size(split, domains));
  Deal deal = Market(outline, bidders, options).run();
  Solution solution{deal.outcome, {}, deal.bound, std::move(deal.why)};
  solution.negotiation = deal.negotiation;
  if (deal.accepted.empty()) return solution;
  // each domain puts its tasks where its accepted bid has them
  Placement placement(problem.parts().size(), kNowhere);
  for (std::size_t d = 0; d < domains.size(); ++d) {
    if (!deal.accepted[d]) continue;
    const Placement& own = domains[d]->placement(*deal.accepted[d]);
    for (std::size_t p = 0; p < own.size(); ++p)
      if (own[p] < split.domains[d].devices.size()) placement[p] = split.domains[d].devices[own[p]];
  }
  Solution checked = solution_of(problem, options.objective, std::move(placement));
  solution.placement = std::move(checked.placement);
  if (solution.placement.empty()) {
    solution.outcome = Solution::Outcome::none;
    solution.why = std::move(checked.why);
  }
  return solution;
}

}  // namespace mangrove::place
