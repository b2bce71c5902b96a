#include "mangrove/place/federation/master.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::place {
namespace {

constexpr double kAnyAmount = std::numeric_limits<double>::infinity();
constexpr double kAboutThousand = 1000;  // that the objective comes to, so that tolerances of solvers fit

}  // namespace

/// The rows and columns of the solver for the bids that there are. The first columns are those of the master.
struct Master::Program {
  Milp milp;
  std::vector<std::vector<int>> bids;  // columns, by domain
  double factor = 1;                   // of the objective
};

void Master::add_bid(std::size_t domain, std::size_t number, std::vector<double> amounts) {
  MG_CHECK(amounts.size() == goods_.count());
  bids_[domain].push_back({number, std::move(amounts)});
}

bool Master::is_allowed(std::size_t domain, const BidColumn& bid) const {
  for (std::size_t p = 0; p < claims_.size(); ++p)
    if (claims_[p] != kNowhere && (bid.amounts[goods_.taken(p)] > 0) != (claims_[p] == domain)) return false;
  return true;
}

Milp::Terms Master::expanded(const Sum& sum, const Program& program) const {
  Milp::Terms terms = sum.columns;
  for (const auto& [number, factor] : sum.goods) {
    const std::size_t domain = number / goods_.count(), good = number % goods_.count();
    for (std::size_t b = 0; b < bids_[domain].size(); ++b)
      if (const double amount = bids_[domain][b].amounts[good]; amount != 0)
        terms.emplace_back(program.bids[domain][b], factor * amount);
  }
  return terms;
}

Master::Program Master::program(std::optional<std::size_t> level, bool is_whole) const {
  Program made;
  for (const double high : columns_) made.milp.add_column(0, high, /*is_whole=*/false);
  for (std::size_t d = 0; d < bids_.size(); ++d) {
    std::vector<int>& columns = made.bids.emplace_back();
    for (const BidColumn& bid : bids_[d]) columns.push_back(made.milp.add_column(0, is_allowed(d, bid), is_whole));
  }
  Milp::Terms costs;
  for (const Row& row : rows_) {
    Milp::Terms terms = expanded(row.sum, made);
    for (const auto& [limit, sign] : {std::pair{row.low, 1.0}, {row.high, -1.0}}) {
      if (level || !row.is_soft || std::isinf(limit)) continue;
      costs.emplace_back(made.milp.add_column(0, kAnyAmount, /*is_whole=*/false), 1);
      terms.emplace_back(costs.back().first, sign);
    }
    made.milp.add_row(std::move(terms), row.low - row.sum.number, row.high - row.sum.number);
  }
  for (const std::vector<int>& columns : made.bids) {
    Milp::Terms terms;
    for (const int column : columns) terms.emplace_back(column, 1);
    made.milp.add_row(std::move(terms), -kAnyAmount, 1);
  }
  if (level) {
    costs = expanded(levels_[*level], made);
    double most = 0;
    for (const auto& [column, cost] : costs) most = std::max(most, std::abs(cost));
    if (most > 0) made.factor = kAboutThousand / most;
    for (auto& term : costs) term.second *= made.factor;
  }
  made.milp.set_costs(costs);
  return made;
}

Master::Prices Master::find_prices(std::optional<std::size_t> level, const std::stop_token& stop) const {
  const Program made = program(level, /*is_whole=*/false);
  const Milp::Relaxed relaxed = made.milp.solve_relaxed(stop);
  Prices prices;
  prices.is_known = relaxed.is_solved;
  if (!relaxed.is_solved) return prices;
  prices.value = relaxed.objective / made.factor + (level ? levels_[*level].number : 0);
  prices.scale = (level ? kAboutThousand : 1) / made.factor;
  prices.base = prices.value;
  prices.goods.assign(domains(), std::vector<double>(goods_.count(), 0));
  const auto add = [&](const Sum& sum, double factor) {
    for (const auto& [number, amount] : sum.goods)
      prices.goods[number / goods_.count()][number % goods_.count()] += factor * amount;
  };
  if (level) add(levels_[*level], 1);
  for (std::size_t r = 0; r < rows_.size(); ++r) add(rows_[r].sum, -relaxed.duals[r] / made.factor);
  for (std::size_t d = 0; d < domains(); ++d) {
    prices.best.push_back(relaxed.duals[rows_.size() + d] / made.factor);
    prices.base -= prices.best.back();
    std::vector<double>& shares = prices.shares.emplace_back(outline_.parts().size(), 0);
    for (std::size_t b = 0; b < bids_[d].size(); ++b)
      for (std::size_t p = 0; p < shares.size(); ++p)
        shares[p] += relaxed.values[static_cast<std::size_t>(made.bids[d][b])] * bids_[d][b].amounts[goods_.taken(p)];
  }
  return prices;
}

Master::Choice Master::choose(std::size_t level, const Milp::Limits& limits) const {
  const Program made = program(level, /*is_whole=*/true);
  const Milp::Solution solution = made.milp.solve({}, limits);
  Choice choice;
  if (solution.values.empty()) return choice;
  choice.owners.assign(outline_.parts().size(), kNowhere);
  choice.value = solution.objective / made.factor + levels_[level].number;
  for (std::size_t d = 0; d < domains(); ++d) {
    std::optional<std::size_t>& number = choice.numbers.emplace_back();
    for (std::size_t b = 0; b < bids_[d].size(); ++b)
      if (solution.values[static_cast<std::size_t>(made.bids[d][b])] > 0.5) {
        number = bids_[d][b].number;
        for (std::size_t p = 0; p < choice.owners.size(); ++p)
          if (bids_[d][b].amounts[goods_.taken(p)] > 0) choice.owners[p] = static_cast<std::uint32_t>(d);
      }
  }
  return choice;
}

void Master::limit(std::size_t level, double most) {
  const double scale = std::max(std::abs(most), 1e-9);
  Sum sum;
  sum.add(levels_[level], 1 / scale);
  add_row(std::move(sum), -kAnyAmount, most / scale);
}

}  // namespace mangrove::place
