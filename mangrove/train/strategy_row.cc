#include "mangrove/train/strategy_row.h"

#include <vector>

#include "mangrove/base/suggestion.h"

namespace mangrove::train {

Result<const Strategy*> find_strategy(std::string_view name) {
  for (const Strategy& strategy : strategies())
    if (strategy.name == name) return &strategy;
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  return make_error(Code::not_found,
                    "strategy: unknown strategy '" + std::string(name) + "'" + suggestion(name, names));
}

const Strategy& strategy_of(const TrainJob& job) {
  static constexpr Strategy kUnknown{};
  for (const Strategy& strategy : strategies())
    if (strategy.name == job.strategy()) return strategy;
  return kUnknown;
}

std::string strategies_with(bool Strategy::*trait) {
  std::string names;
  for (const Strategy& strategy : strategies())
    if (strategy.*trait) names += (names.empty() ? "" : ", ") + std::string(strategy.name);
  return names;
}

}  // namespace mangrove::train
