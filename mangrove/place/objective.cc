#include "mangrove/place/objective.h"

#include <algorithm>
#include <cmath>

#include "mangrove/base/parse_number.h"
#include "mangrove/base/table.h"

namespace mangrove::place {
namespace {

constexpr MeasureRow kMeasures[] = {
    {"cost", "an hour", "prices of the devices that are used, and of what links carry", &Measures::cost},
    {"latency", "s", "mean latency, as a mean over services", &Measures::latency},
    {"worst_latency", "s", "worst latency of any service", &Measures::worst_latency},
    {"energy", "W", "power of the devices that are used", &Measures::energy},
    {"devices", "devices", "how many devices are used", &Measures::devices},
    {"moves", "tasks", "how many tasks leave the device that they had before", &Measures::moves},
};

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == between)
      parts.emplace_back();
    else if (c != ' ')
      parts.back() += c;
  return parts;
}

Result<Objective::Term> parse_term(const std::string& text) {
  Objective::Term term{nullptr, 1};
  std::string name = text;
  if (const std::size_t star = text.find('*'); star != std::string::npos) {
    MG_TRY(term.weight, parse_number(text.substr(0, star), 1e-9, 1e9));
    name = text.substr(star + 1);
  }
  MG_TRY(term.measure, find_row(measures(), name, "unknown objective", Code::invalid_argument));
  return term;
}

}  // namespace

std::span<const MeasureRow> measures() {
  return kMeasures;
}

bool Objective::uses(double Measures::*measure) const {
  for (const Level& level : levels)
    if (std::ranges::any_of(level, [&](const Term& term) { return term.measure->value == measure; })) return true;
  return false;
}

Result<Objective> parse_objective(const std::string& text) {
  Objective objective;
  for (const std::string& level : parts_of(text, ',')) {
    Objective::Level& terms = objective.levels.emplace_back();
    for (const std::string& term : parts_of(level, '+')) {
      MG_TRY(const Objective::Term parsed, parse_term(term));
      terms.push_back(parsed);
    }
  }
  if (objective.levels.size() > std::size(kMeasures))
    return make_error(Code::invalid_argument, "'" + text + "' has more levels than there are measures");
  return objective;
}

double value_of(const Objective::Level& level, const Measures& measures) {
  double sum = 0;
  for (const Objective::Term& term : level) sum += term.weight * measures.*term.measure->value;
  return sum;
}

std::vector<double> values_of(const Objective& objective, const Measures& measures) {
  std::vector<double> values;
  for (const Objective::Level& level : objective.levels) values.push_back(value_of(level, measures));
  return values;
}

bool is_better(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kRounding = 1e-7;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double least = kRounding * std::max(std::abs(a[i]), std::abs(b[i]));
    if (std::isinf(a[i]) != std::isinf(b[i])) return std::isinf(b[i]);
    if (std::isinf(a[i]) || std::abs(a[i] - b[i]) <= least) continue;
    return a[i] < b[i];
  }
  return false;
}

}  // namespace mangrove::place
