#pragma once

namespace mangrove {

/// Numbers below 1.2e-38 become 0 on this thread and on those of its OpenMP team, `threads` with it: x86 kernels run up
/// to a hundred times slower with them.
void flush_denormals(int threads);

}  // namespace mangrove
