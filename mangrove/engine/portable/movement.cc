#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> movement() {
  return {};
}

}  // namespace mangrove::portable
