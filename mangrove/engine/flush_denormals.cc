#include "mangrove/engine/flush_denormals.h"

#include <cstdint>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace mangrove {
namespace {

void flush_denormals_of_this_thread() {
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlushToZero = std::uint64_t{1} << 24;
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | kFlushToZero));
#endif
}

}  // namespace

void flush_denormals(int threads) {
  flush_denormals_of_this_thread();
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    flush_denormals_of_this_thread();
  }
}

}  // namespace mangrove
