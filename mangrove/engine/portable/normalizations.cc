#include "mangrove/engine/portable/normalizations.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> normalizations() {
  return {{"BatchNormalization", make_batch_norm},
          {"GroupNormalization", make_row_norm},
          {"InstanceNormalization", make_row_norm},
          {"LayerNormalization", make_row_norm},
          {"LRN", make_lrn}};
}

}  // namespace mangrove::portable
