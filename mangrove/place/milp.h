#pragma once

#include <stop_token>
#include <utility>
#include <vector>

#include "mangrove/base/units.h"

class OsiClpSolverInterface;  // of COIN-OR

namespace mangrove::place {

/// A mixed-integer linear program: least sum of costs, within rows. It is solved with CBC of COIN-OR.
class Milp {
 public:
  using Terms = std::vector<std::pair<int, double>>;  // column, factor

  /// Returns the number of the column.
  int add_column(double low, double high, bool is_whole);
  /// The sum that is to be least. Terms of one column are added up.
  void set_costs(const Terms& costs);
  /// low <= sum of terms <= high. Terms of one column are added up.
  void add_row(Terms terms, double low, double high);

  int columns() const { return static_cast<int>(columns_.size()); }

  static constexpr double kRoundingGap = 1e-9;
  enum class Outcome {
    optimal,  // up to the gap that was allowed
    feasible,
    infeasible,
    unknown,
  };
  struct Solution {
    Outcome outcome = Outcome::unknown;
    std::vector<double> values;  // by column; none unless optimal or feasible
    double objective = 0;
    double bound = 0;  // no solution has a lower objective
  };
  struct Limits {
    Seconds time = 60;
    std::stop_token stop;
    double gap = kRoundingGap;  // share of the objective by which a solution may miss the best
  };
  /// start: values of a solution to begin with, for columns of whole numbers at least; empty: none is known.
  /// threads: any, but solutions are found one after the other, since CBC has global state.
  Solution solve(const Terms& start, const Limits& limits) const;

  struct Relaxed {
    bool is_solved = false;      // else there is no solution, or the simplex method was stopped
    std::vector<double> values;  // by column
    std::vector<double> duals;   // by row: what the objective grows by if the row's limits grow by 1
    double objective = 0;
  };
  /// The best with fractions, by the simplex method of Clp. threads: any.
  Relaxed solve_relaxed(const std::stop_token& stop) const;

 private:
  struct Column {
    double low, high;
    bool is_whole;
    double cost = 0;
  };
  struct Row {
    Terms terms;
    double low, high;
  };
  void load(OsiClpSolverInterface& solver) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace mangrove::place
