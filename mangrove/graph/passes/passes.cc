#include "mangrove/graph/passes/passes.h"

namespace mangrove {
namespace {

// Those that free nodes for others come first; what nobody uses any more goes last.
constexpr Pass kPasses[] = {
    {"drop_identity", "take out Identity, and in inference Dropout", false, passes_detail::drop_identity},
    {"fold_constants", "compute once what depends on constants only", false, passes_detail::fold_constants},
    {"fold_batch_norm", "put a BatchNormalization into the weights of the Conv, ConvTranspose or Gemm before it", true,
     passes_detail::fold_batch_norm},
    {"keep_bytes", "pool and move bytes rather than floats dequantized from them, and quantize nothing twice", true,
     passes_detail::keep_bytes},
    {"ready_integers", "make the weights of integer products signed bytes, and their scales before their sums", true,
     passes_detail::ready_integers},
    {"eliminate_common", "compute once what several nodes compute alike", false, passes_detail::eliminate_common},
    {"eliminate_dead", "take out nodes and initializers that no output needs", false, passes_detail::eliminate_dead},
};

}  // namespace

std::span<const Pass> passes() {
  return kPasses;
}

}  // namespace mangrove
