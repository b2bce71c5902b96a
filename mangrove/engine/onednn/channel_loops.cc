#include "mangrove/engine/onednn/channel_loops.h"

#include <algorithm>

namespace mangrove::onednn {

#if defined(__x86_64__)
namespace avx512 {
#define LOOP_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,fma")))
#include "mangrove/engine/onednn/channel_loops.inc"
#undef LOOP_TARGET
}  // namespace avx512

namespace avx2 {
#define LOOP_TARGET __attribute__((target("avx2,fma")))
#include "mangrove/engine/onednn/channel_loops.inc"
#undef LOOP_TARGET
}  // namespace avx2
#endif

namespace any {
#define LOOP_TARGET
#include "mangrove/engine/onednn/channel_loops.inc"
#undef LOOP_TARGET
}  // namespace any

ChannelLoops channel_loops(int width, bool residual, bool activation) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return avx512::find(width, residual, activation);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::find(width, residual, activation);
#endif
  return any::find(width, residual, activation);
}

}  // namespace mangrove::onednn
