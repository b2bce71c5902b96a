#include "mangrove/graph/operators/rows.h"

namespace mangrove::rows {

std::vector<Operator> quantization() {
  return {};
}

}  // namespace mangrove::rows
