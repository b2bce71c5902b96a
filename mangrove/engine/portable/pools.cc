#include "mangrove/engine/portable/pools.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> pools() {
  return {{"AveragePool", make_average_pool},
          {"GlobalAveragePool", make_average_pool},
          {"GlobalMaxPool", make_max_pool},
          {"MaxPool", make_max_pool}};
}

}  // namespace mangrove::portable
