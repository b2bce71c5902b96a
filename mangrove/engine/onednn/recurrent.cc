// GRU, LSTM and RNN run on the kernels of the backend simd, whose values lie plain as those between oneDNN's do.
#include "mangrove/engine/onednn/kernels.h"
#include "mangrove/engine/simd/kernels.h"
#include "mangrove/graph/recurrent_geometry.h"

namespace mangrove::onednn {

bool recurrent_supported(const KernelRequest& request) {
  return recurrent_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape).ok();
}

NodeKernels make_recurrent(const dnnl::engine&, const KernelRequest& request) {
  return simd::make_recurrent(request).value();
}

}  // namespace mangrove::onednn
