#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "mangrove/place/federation/goods.h"
#include "mangrove/place/milp.h"
#include "mangrove/place/objective.h"
#include "mangrove/place/problem.h"
#include "mangrove/place/time_windows.h"

namespace mangrove::place {

/// Constraints that can be left out, to see which one stands in the way.
struct LeftOut {
  bool deadlines = false, cores = false, memory = false, links = false, licences = false, apart = false,
       failures = false, moves = false, zones = false;
};

/// A placement problem as a mixed-integer linear program, which says exactly what evaluate() says: a column for each
/// part and device (the part is there), and one for each flow and pair of devices (it goes that way). The sum of a
/// flow's ways from a device is the column of its sender there, and so for its receiver: the tight form of products of
/// two columns.
///
/// Beside these, inequalities that only fractions violate: a device's limits hold times the column that says whether it
/// is used, and each part's column is at most that one. Copies of a service that could change places are in the order
/// of their first task's devices. Devices and ways that the deadline forbids, whatever else lies where, have no column.
class PlacementMilp {
 public:
  /// candidates: by part: devices that it may be on, of those of the problem. One that has a single one is fixed.
  PlacementMilp(const Problem& problem, const Objective& objective, std::vector<std::vector<std::uint32_t>> candidates,
                const LeftOut& left_out = {});
  PlacementMilp(const PlacementMilp&) = delete;
  PlacementMilp& operator=(const PlacementMilp&) = delete;

  /// Some part has no device within its deadline.
  bool is_infeasible() const { return is_infeasible_; }

  struct Result {
    Milp::Outcome outcome = Milp::Outcome::unknown;
    Placement placement;  // empty unless optimal or feasible
    double bound = 0;     // of the level
  };
  /// The best for one level of the objective.
  /// scale: about what the level comes to. start: a placement to begin with; empty: none.
  Result solve(std::size_t level, double scale, const Placement& start, const Milp::Limits& limits);
  /// From now on the level after the last one of the objective is what `prices` of goods make of a placement.
  /// Returns its number. Measures have prices only where the objective uses cost, energy or devices.
  std::size_t set_prices(const Goods& goods, const std::vector<double>& prices);
  /// From now on the level comes to no more than this.
  void limit(std::size_t level, double most);

  /// About how many columns it would have, without making it.
  static double size_of(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& candidates);

 private:
  /// A sum of columns and a number.
  struct Sum {
    Milp::Terms terms;
    double number = 0;
    void add(const Sum& other, double factor);
    void add(int column, double factor);  // kOne: the number
  };
  static constexpr int kOne = -1;  // of what is always so

  /// A device that a part may be on, and the column that says so.
  struct Spot {
    std::uint32_t device;
    int column;
  };
  /// Devices that a flow may go between.
  struct Way {
    std::uint32_t from, to;
    int column;
  };

  bool is_outside(std::uint32_t device) const { return problem_.scenario().devices[device].is_outside; }
  void add_spots();
  void add_ways(std::size_t flow);
  void add_devices();
  void add_capacity(const Sum& load, double limit, int used);
  void add_links();
  void add_sharing();
  void add_moves();
  void add_copies();
  void order_copies(std::size_t service);
  Placement ordered(Placement placement) const;
  void add_latencies();
  void add_service(std::size_t service);
  /// A row "sum <= limit", over the limit.
  void add_limit(const Sum& sum, double limit);
  int max_of(const std::vector<Sum>& sums, Seconds unit);
  static Seconds unit_of(const std::vector<Sum>& sums);
  Sum largest(const std::vector<Sum>& sums, Seconds unit);
  Sum time_of_part(std::size_t part) const;
  Sum time_of_way(std::size_t flow, double bytes, bool at_worst) const;
  const Sum& measure(const MeasureRow& row) const;

  const Problem& problem_;
  const Objective& objective_;
  const LeftOut left_out_;
  std::vector<std::vector<std::uint32_t>> candidates_;
  std::optional<TimeWindows> windows_;  // of candidates_; none where deadlines are left out
  Milp milp_;
  std::vector<std::vector<Spot>> spots_;  // by part
  std::vector<std::vector<Way>> ways_;    // by flow
  std::map<std::uint32_t, int> used_;     // columns that say whether a device is used
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> flow_numbers_;  // by parts
  Sum cost_, latency_, worst_latency_, energy_, devices_, moves_;
  std::vector<Sum> licensed_;  // by licence: devices with it
  std::vector<Sum> levels_;
  int worst_ = kOne;                                          // column
  std::vector<std::pair<std::size_t, std::size_t>> ordered_;  // services whose copies are in order, and by which task
  bool is_infeasible_ = false;
};

}  // namespace mangrove::place
