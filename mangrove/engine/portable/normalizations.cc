#include "mangrove/engine/portable/normalizations.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> normalizations() {
  return {{"BatchNormalization", make_batch_norm}};
}

}  // namespace mangrove::portable
