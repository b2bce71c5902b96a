#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/place/milp.h"

namespace mangrove::place {

/// Whose a part is, as far as the market has decided.
enum class Claim : std::uint8_t { open, yours, others };

/// The market to a domain: what would you take at these prices?
struct Call {
  std::vector<double> prices;  // by Goods; below 0: the market pays
  std::vector<Claim> claims;   // by part
};

/// A domain to the market: what it would take, all or nothing, and what that comes to. It says nothing of the devices
/// behind it.
struct Bid {
  std::vector<double> amounts;  // by Goods
  double bound = 0;             // at the prices of the call, no bid of this domain comes to less
};

/// All that the market sees of a domain. threads: one at a time.
class Bidder {
 public:
  virtual ~Bidder() = default;
  /// The best bid at these prices that is found within the limits. Bids have numbers from 0, in their order.
  /// None: there is none with these claims, or time was over.
  virtual std::optional<Bid> bid(const Call& call, const Milp::Limits& limits) = 0;
};

}  // namespace mangrove::place
