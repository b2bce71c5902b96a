#include "mangrove/infer/strategy_row.h"

#include "mangrove/base/table.h"

namespace mangrove::infer {

Result<const Strategy*> find_strategy(std::string_view name) {
  return find_row(strategies(), name, "strategy: unknown strategy");
}

}  // namespace mangrove::infer
