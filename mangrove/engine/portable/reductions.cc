#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> reductions() {
  return {};
}

}  // namespace mangrove::portable
