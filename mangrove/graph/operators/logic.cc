#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> logic() {
  return {};
}

}  // namespace mangrove::rows
