#include "mangrove/infer/strategy_row.h"

#include <string>
#include <vector>

#include "mangrove/base/suggestion.h"

namespace mangrove::infer {

Result<const Strategy*> find_strategy(std::string_view name) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) return &strategy;
    names.emplace_back(strategy.name);
  }
  return make_error(Code::not_found,
                    "strategy: unknown strategy '" + std::string(name) + "'" + suggestion(name, names));
}

}  // namespace mangrove::infer
