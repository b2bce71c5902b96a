#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/place/federation/bidder.h"
#include "mangrove/place/federation/goods.h"
#include "mangrove/place/placement_milp.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// A domain as its own owner sees it: its devices and links, and one device more that stands for all other domains
/// and lies behind its gate. It answers calls with the placement that is best for it at their prices, by a
/// mixed-integer linear program over its own devices only.
class Domain final : public Bidder {
 public:
  /// scenario: its devices and the one outside; all services. before: of its own devices.
  /// objective: measures that have prices.
  Domain(Scenario scenario, Before before, const Objective& objective);

  std::optional<Bid> bid(const Call& call, const Milp::Limits& limits) override;

  /// Where its parts lie if the bid of this number is accepted; others are on the device outside.
  const Placement& placement(std::size_t bid) const { return placements_[bid]; }
  const Problem& problem() const { return problem_; }

 private:
  std::vector<std::vector<std::uint32_t>> candidates(const std::vector<Claim>& claims) const;
  Bid bid_of(const Placement& placement, double bound) const;

  Problem problem_;
  const Objective objective_;
  const Goods goods_;
  std::vector<Claim> claims_;               // that the program is of
  std::unique_ptr<PlacementMilp> program_;  // for these claims
  std::vector<Placement> placements_;       // by number of a bid
};

}  // namespace mangrove::place
