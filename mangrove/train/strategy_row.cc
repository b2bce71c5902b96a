#include "mangrove/train/strategy_row.h"

#include "mangrove/base/table.h"

namespace mangrove::train {

Result<const Strategy*> find_strategy(std::string_view name) {
  return find_row(strategies(), name, "strategy: unknown strategy");
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
