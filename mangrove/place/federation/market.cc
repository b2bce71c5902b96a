#include "mangrove/place/federation/market.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mangrove::place {
namespace {

constexpr std::size_t kRounds = 400;    // of one level
constexpr std::size_t kDiveRounds = 6;  // after each award
constexpr Seconds kAnswer = 10;         // for one bid
constexpr double kHelps = 1e-7;         // that a bid is better, as a share of what bids come to
constexpr double kSteady = 0.6;         // what the prices of the best bound so far count, against those of the mix
constexpr std::size_t kInVain = 8;      // negotiations one after the other that change nothing
constexpr double kAbout = 0.01, kExact = 1e-9;  // gaps of bids
constexpr std::size_t kAtOnce = 4;              // one of so many open parts is awarded at once
constexpr double kSure = 0.95;                  // a part is a domain's that has so much of it in the mix
constexpr double kProven = 1e-6;                // gap of what counts as proven
constexpr double kLacks = 1e-6;                 // of constraints that are kept
constexpr double kRoom = 1e-7;                  // of a level's best, for the levels behind it

}  // namespace

Market::Market(const Problem& outline, std::vector<Bidder*> bidders, const SolveOptions& options)
    : outline_(outline),
      bidders_(std::move(bidders)),
      options_(options),
      end_(clock_.after(options.time_limit)),
      master_(outline, options.objective),
      random_(options.seed),
      counts_(bidders_.size(), 0),
      owners_(outline.parts().size(), kNowhere) {}

bool Market::is_over(Deadline end) const {
  return options_.stop.stop_requested() || clock_.now() >= end;
}

bool Market::has_claims() const {
  return std::ranges::any_of(master_.claims(), [](std::uint32_t claim) { return claim != kNowhere; });
}

std::vector<Claim> Market::claims_for(std::size_t domain) const {
  std::vector<Claim> claims;
  for (const std::uint32_t claim : master_.claims())
    claims.push_back(claim == kNowhere ? Claim::open : claim == domain ? Claim::yours : Claim::others);
  return claims;
}

/// Prices between those of the best bound so far and those of the mix: they swing less.
/// source: Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming, 1997.
Market::Told Market::between(const Told& best, const Master::Prices& now) {
  Told told{best.goods, kSteady * best.base + (1 - kSteady) * now.base, std::nullopt};
  for (std::size_t d = 0; d < told.goods.size(); ++d)
    for (std::size_t g = 0; g < told.goods[d].size(); ++g)
      told.goods[d][g] = kSteady * told.goods[d][g] + (1 - kSteady) * now.goods[d][g];
  return told;
}

bool Market::ask(Told& told, const Master::Prices& now, double gap) {
  ++made_.negotiation.rounds;
  bool helps = false;
  told.bound = told.base;
  for (std::size_t d = 0; d < bidders_.size(); ++d) {
    const Milp::Limits limits{std::min(kAnswer, end_ - clock_.now()), options_.stop, gap};
    std::optional<Bid> bid = bidders_[d]->bid({told.goods[d], claims_for(d)}, limits);
    made_.negotiation.messages += 2;
    if (!bid) {
      told.bound.reset();
      continue;
    }
    const std::size_t number = counts_[d]++;
    if (told.bound) *told.bound += std::min(0.0, bid->bound);
    const double value = std::inner_product(now.goods[d].begin(), now.goods[d].end(), bid->amounts.begin(), 0.0);
    if (value >= now.best[d] - kHelps * now.scale) continue;
    helps = true;
    master_.add_bid(d, number, std::move(bid->amounts));
  }
  return helps;
}

std::optional<Master::Prices> Market::settle(std::optional<std::size_t> level, std::size_t most_rounds, Deadline end) {
  std::optional<Told> best;
  for (std::size_t round = 0;; ++round) {
    Master::Prices now = master_.find_prices(level, options_.stop);
    if (!now.is_known) return std::nullopt;
    if (!level && now.value < kLacks) return now;
    if (level && (round == most_rounds || is_over(end))) return now;
    if (is_over(end)) return std::nullopt;
    bool helps = false;
    // first about, at steadier prices; if that does not help, as well as can be
    for (const bool is_steady : {true, false}) {
      Told told = is_steady && best ? between(*best, now) : Told{now.goods, now.base, std::nullopt};
      helps = ask(told, now, is_steady ? kAbout : kExact);
      if (told.bound && (!best || *told.bound > *best->bound)) best = std::move(told);
      if (helps || is_over(end)) break;
    }
    if (best && !has_claims()) bound_ = std::max(bound_.value_or(*best->bound), *best->bound);
    const bool is_closed = best && now.value - *best->bound <= kProven / 10 * std::abs(now.value);
    if (helps && !is_closed) continue;
    return level ? std::optional(std::move(now)) : std::nullopt;
  }
}

/// Bids of which a mix keeps all constraints.
bool Market::find_first() {
  bound_.reset();
  const bool has_mix = settle(std::nullopt, kRounds, end_).has_value();
  if (!has_mix && bound_ && *bound_ > kLacks) {
    made_.outcome = Solution::Outcome::infeasible;
    made_.why = "the domains cannot take all tasks such that all constraints are kept";
  } else if (!has_mix) {
    made_.why = "the domains found no bids that keep all constraints in time";
  }
  bound_.reset();
  return has_mix;
}

void Market::choose(std::size_t level) {
  const Seconds left = std::max(end_ - clock_.now(), options_.time_limit / 10);
  Master::Choice choice = master_.choose(level, {left, options_.stop});
  if (choice.numbers.empty() || (value_ && choice.value >= *value_)) return;
  value_ = choice.value;
  owners_ = std::move(choice.owners);
  made_.accepted = std::move(choice.numbers);
  made_.outcome = Solution::Outcome::feasible;
}

bool Market::is_proven() const {
  return value_ && bound_ && *value_ - *bound_ <= kProven * std::abs(*value_) + 1e-12;
}

/// Awards the parts that the mix is surest of: a share of those that are open, and all that one domain has alone.
/// false: there are none.
bool Market::claim_more(const Master::Prices& prices) {
  struct Open {
    double share;
    std::size_t part;
    std::uint32_t domain;
  };
  std::vector<std::uint32_t> claims = master_.claims();
  std::vector<Open> open;
  for (std::size_t p = 0; p < claims.size(); ++p) {
    if (claims[p] != kNowhere) continue;
    Open one{-1, p, 0};
    for (std::uint32_t d = 0; d < bidders_.size(); ++d)
      if (prices.shares[d][p] > one.share) one = {prices.shares[d][p], p, d};
    open.push_back(one);
  }
  std::ranges::stable_sort(open, std::greater(), &Open::share);
  for (std::size_t i = 0; i < open.size(); ++i)
    if (i <= open.size() / kAtOnce || open[i].share >= kSure) claims[open[i].part] = open[i].domain;
  master_.set_claims(std::move(claims));
  return !open.empty();
}

/// Negotiates about the parts that are open, and awards more and more of them.
void Market::dive(std::size_t level) {
  std::optional<Master::Prices> prices = settle(level, kDiveRounds, end_);
  while (prices && !is_over(end_) && claim_more(*prices)) {
    prices = settle(std::nullopt, kRounds, end_);
    if (prices) prices = settle(level, kDiveRounds, end_);
  }
  master_.set_claims(std::vector<std::uint32_t>(owners_.size(), kNowhere));
}

/// Parts that are negotiated anew: those of two domains, or of some services.
std::vector<std::uint32_t> Market::reopened(bool by_domain) {
  std::vector<std::uint32_t> claims = owners_;
  if (by_domain) {
    const std::uint64_t a = random_.below(bidders_.size()), b = random_.below(bidders_.size());
    for (std::uint32_t& claim : claims)
      if (claim == a || claim == b) claim = kNowhere;
    return claims;
  }
  std::vector<bool> is_open;  // by service
  for (std::size_t s = 0; s < outline_.scenario().services.size(); ++s) is_open.push_back(random_.below(kAtOnce) == 0);
  for (std::size_t p = 0; p < claims.size(); ++p)
    if (is_open[outline_.parts()[p].service]) claims[p] = kNowhere;
  return claims;
}

/// Negotiates about some parts again, until that has often been in vain.
void Market::renegotiate(std::size_t level) {
  for (std::size_t in_vain = 0; value_ && in_vain < kInVain && !is_proven() && !is_over(end_);) {
    const double before = *value_;
    master_.set_claims(reopened(in_vain % 2 == 0));
    dive(level);
    choose(level);
    in_vain = *value_ < before ? 0 : in_vain + 1;
  }
}

Deal Market::run() {
  if (!find_first()) return std::move(made_);
  bool is_optimal = true;
  for (std::size_t level = 0; level < options_.objective.levels.size(); ++level) {
    value_.reset();
    bound_.reset();
    settle(level, kRounds, clock_.now() + (end_ - clock_.now()) / 3);
    choose(level);
    if (!is_proven()) {
      dive(level);
      choose(level);
      renegotiate(level);
    }
    if (level == 0) made_.bound = bound_;
    if (!value_) {
      if (made_.accepted.empty()) made_.why = "the domains' bids do not fit together";
      return std::move(made_);
    }
    is_optimal = is_optimal && is_proven();
    master_.limit(level, *value_ + kRoom * std::abs(*value_));
  }
  if (is_optimal) made_.outcome = Solution::Outcome::optimal;
  return std::move(made_);
}

}  // namespace mangrove::place
