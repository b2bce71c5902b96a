#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/random.h"
#include "mangrove/place/federation/bidder.h"
#include "mangrove/place/federation/master.h"
#include "mangrove/place/solver.h"

namespace mangrove::place {

/// What a market came to.
struct Deal {
  Solution::Outcome outcome = Solution::Outcome::none;
  std::vector<std::optional<std::size_t>> accepted;  // by domain: the number of its bid; none: it has nothing
  std::optional<double> bound;                       // no placement has a lower value of the objective's first level
  std::string why;                                   // infeasible, or none
  Negotiation negotiation;
};

/// Finds out which domain takes which task, by messages to domains only. In each round it tells each domain prices,
/// and the domain answers with what it would take at these. Prices come from the best mix of all bids so far with
/// fractions of bids (column generation). Once no bid makes the mix better, whole bids are chosen. If these are above
/// the bound, the market awards the tasks that the mix is most sure of, and goes on with the others.
///
/// sources: Dantzig & Wolfe, Decomposition principle for linear programs, 1960; Barnhart et al., Branch-and-price:
/// column generation for solving huge integer programs, 1998 (bound and diving).
class Market {
 public:
  /// outline: as Master's. bidders: by domain. All must live as long.
  Market(const Problem& outline, std::vector<Bidder*> bidders, const SolveOptions& options);

  Deal run();

 private:
  bool is_over(Deadline end) const;
  std::vector<Claim> claims_for(std::size_t domain) const;
  /// Prices that were told, and what no mix is below as the answers say.
  struct Told {
    std::vector<std::vector<double>> goods;  // by domain and good
    double base = 0;
    std::optional<double> bound;  // none: some domain has not answered
  };
  static Told between(const Told& best, const Master::Prices& now);
  /// Asks all domains at the prices in `told`, and adds the bids that help at the prices of the mix. Whether any does.
  bool ask(Told& told, const Master::Prices& now, double gap);
  /// Rounds until no bid helps any more, or so many. none: time is over, or bids cannot keep all constraints.
  std::optional<Master::Prices> settle(std::optional<std::size_t> level, std::size_t most_rounds, Deadline end);
  bool find_first();
  void choose(std::size_t level);
  void dive(std::size_t level);
  std::vector<std::uint32_t> reopened(bool by_domain);
  void renegotiate(std::size_t level);
  bool claim_more(const Master::Prices& prices);
  bool is_proven() const;
  bool has_claims() const;

  const Problem& outline_;
  const std::vector<Bidder*> bidders_;
  const SolveOptions& options_;
  const SteadyClock clock_;
  const Deadline end_;
  Master master_;
  Random random_;
  std::vector<std::size_t> counts_;    // of bids, by domain
  std::vector<std::uint32_t> owners_;  // by part, in the best so far
  Deal made_;
  std::optional<double> value_;  // of the accepted bids, at the level
  std::optional<double> bound_;  // of the level
};

}  // namespace mangrove::place
