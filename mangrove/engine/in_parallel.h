#pragma once

#include <algorithm>
#include <cstdint>

namespace mangrove {

/// Calls work(i) for each i below `count`, on `threads` threads of OpenMP. Which of them calls it must not matter.
template <class Work>
void in_parallel(std::int64_t count, int threads, const Work& work) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) work(i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) work(i);
}

/// Calls work(first, last) for ranges that make up [0, count), of elements that each cost little.
template <class Work>
void in_ranges(std::int64_t count, int threads, const Work& work) {
  constexpr std::int64_t kLeast = 4096;  // fewer are not worth a thread
  const std::int64_t ranges = std::clamp<std::int64_t>(count / kLeast, 1, std::max(threads, 1));
  in_parallel(ranges, threads, [&](std::int64_t i) { work(count * i / ranges, count * (i + 1) / ranges); });
}

}  // namespace mangrove
