#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> logic() {
  return {};
}

}  // namespace mangrove::portable
