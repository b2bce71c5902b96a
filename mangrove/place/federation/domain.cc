#include "mangrove/place/federation/domain.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "mangrove/place/evaluation.h"

namespace mangrove::place {

Domain::Domain(Scenario scenario, Before before, const Objective& objective)
    : problem_(std::move(scenario)), objective_(objective), goods_(problem_) {
  if (!before.devices.empty()) problem_.set_before(std::move(before));
}

std::vector<std::vector<std::uint32_t>> Domain::candidates(const std::vector<Claim>& claims) const {
  auto candidates = problem_.candidates();
  for (std::size_t p = 0; p < candidates.size(); ++p)
    std::erase_if(candidates[p], [&](std::uint32_t d) {
      const bool is_outside = problem_.scenario().devices[d].is_outside;
      return claims[p] == (is_outside ? Claim::yours : Claim::others);
    });
  return candidates;
}

std::optional<Bid> Domain::bid(const Call& call, const Milp::Limits& limits) {
  if (!program_ || claims_ != call.claims) {
    claims_ = call.claims;
    program_ = std::make_unique<PlacementMilp>(problem_, objective_, candidates(claims_));
  }
  if (program_->is_infeasible()) return std::nullopt;
  const std::size_t level = program_->set_prices(goods_, call.prices);
  double scale = 0;  // about what a bid comes to
  for (std::size_t p = 0; p < problem_.parts().size(); ++p) scale += std::abs(call.prices[goods_.taken(p)]);
  const PlacementMilp::Result result = program_->solve(level, scale, {}, limits);
  if (result.placement.empty()) return std::nullopt;
  placements_.push_back(result.placement);
  return bid_of(result.placement, result.bound);
}

Bid Domain::bid_of(const Placement& placement, double bound) const {
  Bid bid{std::vector<double>(goods_.count(), 0), bound};
  const auto is_outside = [this](std::uint32_t device) { return problem_.scenario().devices[device].is_outside; };
  const std::vector<Licence>& licences = problem_.scenario().licences;
  std::vector<std::set<std::uint32_t>> licensed(licences.size());
  for (std::size_t p = 0; p < placement.size(); ++p) {
    if (is_outside(placement[p])) continue;
    bid.amounts[goods_.taken(p)] = 1;
    bid.amounts[goods_.seconds(p)] = problem_.time(p, placement[p]);
    for (std::size_t l = 0; l < licences.size(); ++l)
      if (licences[l].name == problem_.task(p).licence) licensed[l].insert(placement[p]);
  }
  for (std::size_t l = 0; l < licences.size(); ++l)
    bid.amounts[goods_.licensed(l)] = static_cast<double>(licensed[l].size());
  for (std::size_t f = 0; f < problem_.flows().size(); ++f) {
    const PartFlow& flow = problem_.flows()[f];
    const std::uint32_t from = placement[flow.from], to = placement[flow.to];
    if (from == to) continue;
    bid.amounts[goods_.way(f)] = problem_.routes().time(from, to, flow.bytes);
    bid.amounts[goods_.worst_way(f)] = problem_.routes().worst_time(from, to, flow.bytes);
  }
  const Measures measures = evaluate(problem_, placement).measures;
  for (std::size_t m = 0; m < Goods::kMeasures.size(); ++m)
    bid.amounts[goods_.measure(m)] = measures.*Goods::kMeasures[m];
  return bid;
}

}  // namespace mangrove::place
