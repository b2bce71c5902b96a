#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::place {

/// What a placement comes to. All of it is better the less it is.
struct Measures {
  double cost = 0;           // an hour: prices of the devices that are used, and of what links carry
  double latency = 0;        // seconds: the mean over services of their mean latencies
  double worst_latency = 0;  // seconds: of the service with the worst one
  double energy = 0;         // watts: of devices that are used, idle and by their load
  double devices = 0;        // that are used
  double moves = 0;          // tasks that could stay where they were, and do not
};

struct MeasureRow {
  std::string_view name, unit, description;
  double Measures::*value;
};
/// What an objective can be made of.
std::span<const MeasureRow> measures();

/// What a placement is best for: the first level alone, then the next one among what is best by those before it, ...
/// A level is a sum of measures with weights.
struct Objective {
  struct Term {
    const MeasureRow* measure;
    double weight = 1;
  };
  using Level = std::vector<Term>;
  std::vector<Level> levels;

  bool uses(double Measures::*measure) const;
};

/// "cost"; "latency,cost": cost among the placements of least latency; "cost+20*latency": a weighted sum.
/// errors: invalid_argument: an unknown measure, with the nearest known one; no weight.
Result<Objective> parse_objective(const std::string& text);

/// What a placement with these measures comes to: at one level, and at each of them.
double value_of(const Objective::Level& level, const Measures& measures);
std::vector<double> values_of(const Objective& objective, const Measures& measures);
/// Whether `a` is better: less at the first level at which they differ by more than rounding.
bool is_better(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace mangrove::place
