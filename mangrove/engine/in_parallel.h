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

/// Calls work(first, last) for ranges that make up [0, count), of things with `elements` each, which cost little.
template <class Work>
void in_ranges(std::int64_t count, std::int64_t elements, int threads, const Work& work) {
  constexpr std::int64_t kLeast = 4096;  // fewer elements are not worth a thread
  const std::int64_t most = std::max<std::int64_t>(std::min<std::int64_t>(threads, count), 1);
  const std::int64_t ranges = std::clamp<std::int64_t>(count * elements / kLeast, 1, most);
  in_parallel(ranges, threads, [&](std::int64_t i) { work(count * i / ranges, count * (i + 1) / ranges); });
}

/// The same of single elements.
template <class Work>
void in_ranges(std::int64_t count, int threads, const Work& work) {
  in_ranges(count, 1, threads, work);
}

}  // namespace mangrove
