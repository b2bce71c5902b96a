#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> recurrent() {
  return {};
}

}  // namespace mangrove::rows
