#include "mangrove/engine/portable/reductions.h"

#include "mangrove/engine/portable/kernels.h"

namespace mangrove::portable {

std::vector<KernelRow> reductions() {
  return {{"ArgMax", make_arg_extreme},
          {"ArgMin", make_arg_extreme},
          {"CumSum", make_cumulative_sum},
          {"ReduceL1", make_reduce_function},
          {"ReduceL2", make_reduce_function},
          {"ReduceLogSum", make_reduce_function},
          {"ReduceLogSumExp", make_reduce_function},
          {"ReduceMax", make_reduce_extreme},
          {"ReduceMean", make_reduce_sum},
          {"ReduceMin", make_reduce_extreme},
          {"ReduceProd", make_reduce_function},
          {"ReduceSum", make_reduce_sum},
          {"ReduceSumSquare", make_reduce_function},
          {"TopK", make_top_k}};
}

}  // namespace mangrove::portable
