#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "mangrove/place/federation/goods.h"
#include "mangrove/place/milp.h"
#include "mangrove/place/objective.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// The program of the market: one bid at most of each domain, such that each part is taken by one of them, and links
/// between gates, deadlines, licences and moves keep their limits. It is solved with fractions of bids, which gives
/// prices, or with whole bids.
class Master {
 public:
  /// outline: all services, a device in place of each domain, and the links between their gates. It must live as long.
  Master(const Problem& outline, const Objective& objective);

  std::size_t domains() const { return bids_.size(); }
  /// number: of the bid, among those of its domain.
  void add_bid(std::size_t domain, std::size_t number, std::vector<double> amounts);
  /// by part: the domain that has it, or kNowhere: it is open. Bids against these are not taken.
  void set_claims(std::vector<std::uint32_t> claims) { claims_ = std::move(claims); }
  const std::vector<std::uint32_t>& claims() const { return claims_; }

  struct Prices {
    bool is_known = false;                    // else there is no solution, or the solver was stopped
    double value = 0;                         // of the level
    double base = 0;                          // of the value: what does not depend on bids
    double scale = 1;                         // about what bids come to
    std::vector<std::vector<double>> goods;   // by domain and good
    std::vector<double> best;                 // by domain: what its best bid comes to at these prices, 0 at most
    std::vector<std::vector<double>> shares;  // by domain and part: how much of it the domain has
  };
  /// level: of the objective; none: the sum of what constraints lack, 0 if bids and fractions of them can keep all.
  Prices find_prices(std::optional<std::size_t> level, const std::stop_token& stop) const;

  struct Choice {
    double value = 0;                                 // of the level
    std::vector<std::optional<std::size_t>> numbers;  // by domain: of its bid; none: it has nothing
    std::vector<std::uint32_t> owners;                // by part: the domain that has it
  };
  Choice choose(std::size_t level, const Milp::Limits& limits) const;
  /// From now on the level comes to no more than this.
  void limit(std::size_t level, double most);

 private:
  /// A sum of goods of all bids that are taken, of columns of this program, and a number.
  struct Sum {
    std::vector<std::pair<std::size_t, double>> goods;  // as good_of() numbers them
    Milp::Terms columns;
    double number = 0;
    void add(const Sum& other, double factor);
  };
  struct Row {
    Sum sum;
    double low, high;
    bool is_soft;  // it may lack something while a first solution is looked for
  };
  struct Way {
    std::uint32_t from, to;  // domains
    Sum sum;                 // 1: the flow goes this way
  };
  struct BidColumn {
    std::size_t number;
    std::vector<double> amounts;
  };
  struct Program;

  std::size_t good_of(std::size_t domain, std::size_t good) const { return domain * goods_.count() + good; }
  Sum& measure(double Measures::*value);
  Sum taken(std::size_t domain, std::size_t part) const;
  Sum sum_of_domains(std::size_t good) const;
  int add_column(double high);
  void add_row(Sum sum, double low, double high, bool is_soft = true);
  /// A row "sum <= limit", over the limit.
  void add_limit(const Sum& sum, double limit);
  void add_parts();
  void add_flow(std::size_t flow);
  void add_links();
  void add_sharing();
  void add_latencies();
  void add_service(std::size_t service, Sum& latency, const std::optional<int>& worst);
  Sum joined(std::vector<Sum> sums);
  Sum time_of_way(std::size_t flow, double bytes, bool at_worst) const;
  std::vector<std::uint32_t> owners(std::size_t part) const;
  Program program(std::optional<std::size_t> level, bool is_whole) const;
  Milp::Terms expanded(const Sum& sum, const Program& program) const;
  bool is_allowed(std::size_t domain, const BidColumn& bid) const;

  const Problem& outline_;
  const Objective& objective_;
  const Goods goods_;
  std::vector<double> columns_;  // their highest values; the lowest are 0
  std::vector<Row> rows_;
  std::vector<std::vector<Way>> ways_;                                       // by flow
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> flow_numbers_;  // by parts
  std::vector<Sum> measures_;                                                // by row of measures()
  std::vector<Sum> levels_;
  std::vector<std::vector<BidColumn>> bids_;  // by domain
  std::vector<std::uint32_t> claims_;
};

}  // namespace mangrove::place
