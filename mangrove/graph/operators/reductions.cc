#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> reductions() {
  return {};
}

}  // namespace mangrove::rows
