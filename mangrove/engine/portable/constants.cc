#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> constants() {
  return {};
}

}  // namespace mangrove::portable
