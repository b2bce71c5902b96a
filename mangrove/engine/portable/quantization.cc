#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> quantization() {
  return {};
}

}  // namespace mangrove::portable
