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

/// Returns `threads`, or as many as are worth waking for so many elements, each of which costs little. At least 1.
inline int threads_for(std::int64_t elements, int threads) {
  constexpr std::int64_t kLeast = 4096;  // fewer elements are not worth a thread
  return static_cast<int>(std::clamp<std::int64_t>(elements / kLeast, 1, std::max(threads, 1)));
}

/// Calls work(first, last) for ranges that make up [0, count), one for each of `threads` threads.
template <class Work>
void in_ranges(std::int64_t count, int threads, const Work& work) {
  in_parallel(threads, threads, [&](std::int64_t i) { work(count * i / threads, count * (i + 1) / threads); });
}

}  // namespace mangrove
