#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> normalizations() {
  return {};
}

}  // namespace mangrove::rows
