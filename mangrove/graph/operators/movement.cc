#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> movement() {
  return {};
}

}  // namespace mangrove::rows
