#include "mangrove/infer/strategy_row.h"

#include "mangrove/base/table.h"

namespace mangrove::infer {

Result<const Strategy*> find_strategy(std::string_view name) {
  return find_row(strategies(), name, "strategy: unknown strategy");
}

std::vector<std::string> strategies_with(bool Strategy::*trait) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies())
    if (strategy.*trait) names.emplace_back(strategy.name);
  return names;
}

std::vector<std::string> strategies_with(Networks networks) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies())
    if (strategy.networks == networks) names.emplace_back(strategy.name);
  return names;
}

}  // namespace mangrove::infer
