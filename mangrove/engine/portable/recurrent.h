#pragma once

#include "mangrove/engine/kernel.h"
#include "mangrove/engine/portable/recurrent_cell.h"

namespace mangrove::portable {

/// Makes the kernels of a GRU, LSTM or RNN of f32 with the functions that it is given. errors: those of
/// recurrent_geometry.
Result<NodeKernels> make_recurrent_of(const KernelRequest& request, const CellMath<float>& math);

}  // namespace mangrove::portable
