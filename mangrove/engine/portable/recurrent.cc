#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> recurrent() {
  return {};
}

}  // namespace mangrove::portable
