#pragma once

#include <type_traits>

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/portable/broadcast_rows.h"

namespace mangrove::portable {

Result<NodeKernels> make_reduce_sum(const KernelRequest& request);       // ReduceSum, ReduceMean
Result<NodeKernels> make_reduce_extreme(const KernelRequest& request);   // ReduceMax, ReduceMin
Result<NodeKernels> make_reduce_function(const KernelRequest& request);  // ReduceL1, ReduceL2, ReduceLogSum ...
Result<NodeKernels> make_arg_extreme(const KernelRequest& request);      // ArgMax, ArgMin
Result<NodeKernels> make_top_k(const KernelRequest& request);
Result<NodeKernels> make_cumulative_sum(const KernelRequest& request);

/// A reduction is a broadcast seen from the other side: the rows are those of the input, to which the result
/// broadcasts.
BroadcastRows reduction_rows(const KernelRequest& request);

/// Sums of a row are made in double, or in the integer's own type.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;

}  // namespace mangrove::portable
