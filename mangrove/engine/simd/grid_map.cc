#include "mangrove/engine/simd/grid_map.h"

#include "mangrove/engine/simd/micro_kernels.h"

namespace mangrove::simd {

void finish_results(const GridMap& map, std::int64_t channel, std::int64_t at, std::int64_t count) {
  const Finish& f = map.finish;
  if (f.does_nothing()) return;
  micro_kernels().finish(count, f.bias != nullptr ? f.bias[channel] : 0.0f,
                         f.residual != nullptr ? f.residual + at : nullptr, f.bounds.low, f.bounds.high, map.y + at);
}

}  // namespace mangrove::simd
