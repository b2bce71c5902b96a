#include "mangrove/engine/portable/reductions.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> reductions() {
  return {{"ArgMax", make_arg_max},           {"ReduceMax", make_reduce_extreme}, {"ReduceMean", make_reduce_sum},
          {"ReduceMin", make_reduce_extreme}, {"ReduceSum", make_reduce_sum},     {"TopK", make_top_k}};
}

}  // namespace mangrove::portable
