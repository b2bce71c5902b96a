#pragma once

#include <cstdint>

#include "mangrove/engine/in_parallel.h"

namespace mangrove::simd {

/// So many elements that what follows them begins a cache line.
constexpr std::int64_t whole_lines(std::int64_t elements) {
  constexpr std::int64_t kLine = 16;
  return (elements + kLine - 1) / kLine * kLine;
}

/// Calls work(first, last, scratch) for ranges that make up [0, count), at most one for each of `threads` threads, with
/// scratch space of its own: `elements` in the workspace, in whole lines.
template <class Work>
void in_ranges_with_scratch(std::int64_t count, int threads, float* workspace, std::int64_t elements,
                            const Work& work) {
  in_parallel(threads, threads,
              [&](std::int64_t i) { work(count * i / threads, count * (i + 1) / threads, workspace + i * elements); });
}

}  // namespace mangrove::simd
