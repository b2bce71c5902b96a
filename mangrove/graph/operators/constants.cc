#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> constants() {
  return {};
}

}  // namespace mangrove::rows
