#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> normalizations() {
  return {};
}

}  // namespace mangrove::portable
