#include "mangrove/engine/accumulate.h"

#include <cstddef>
#include <cstring>

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

template <class T>
void add_range(T* sum, const T* term, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) sum[i] += term[i];
}

template <class T>
void add(T* sum, const T* term, std::size_t elements, int threads) {
  constexpr std::size_t kWorthThreads = 1 << 15;
  if (threads == 1 || elements < kWorthThreads) return add_range(sum, term, 0, elements);
  const auto parts = static_cast<std::size_t>(threads);
#pragma omp parallel for num_threads(threads)
  for (std::size_t k = 0; k < parts; ++k) add_range(sum, term, elements * k / parts, elements * (k + 1) / parts);
}

template <class T>
void add_bytes(std::byte* sum, const std::byte* term, Bytes bytes, int threads) {
  add(reinterpret_cast<T*>(sum), reinterpret_cast<const T*>(term), static_cast<std::size_t>(bytes) / sizeof(T),
      threads);
}

using Accumulate = void (*)(std::byte* sum, const std::byte* term, Bytes bytes, int threads);

Result<SlicedStep> sliced(Accumulate add, Bytes bytes, Bytes element, int slices, int threads) {
  if (bytes % (slices * element) != 0) return make_error(Code::unimplemented, "slices of uneven size");
  SlicedStep step;
  step.bind = [add, threads, bytes = bytes / slices](std::span<const SliceBuffer> buffers,
                                                     std::byte*) -> SlicedStep::Bound {
    return [add, threads, bytes, sum = buffers[0], term = buffers[1]](int slice) {
      add(sum.start + slice * sum.stride, term.start + slice * term.stride, bytes, threads);
    };
  };
  return step;
}

}  // namespace

void accumulate(float* sum, const float* term, std::size_t elements, int threads) {
  add(sum, term, elements, threads);
}

Step accumulate_step(DType dtype, Bytes bytes, int threads) {
  MG_CHECK(dtype == DType::f32 || dtype == DType::f64);
  const Accumulate add = dtype == DType::f32 ? &add_bytes<float> : &add_bytes<double>;
  Step step;
  step.bind = [add, threads, bytes](std::span<std::byte* const> buffers, std::byte*) -> Step::Bound {
    return [add, threads, bytes, sum = buffers[0], term = buffers[1]] { add(sum, term, bytes, threads); };
  };
  const auto element = static_cast<Bytes>(size_of(dtype));
  step.slicing = Slicing{{true, true, true}, [=](int slices) { return sliced(add, bytes, element, slices, threads); }};
  return step;
}

Step zero_step(Bytes bytes) {
  Step step;
  step.bind = [bytes](std::span<std::byte* const> buffers, std::byte*) -> Step::Bound {
    return [bytes, buffer = buffers[0]] { std::memset(buffer, 0, static_cast<std::size_t>(bytes)); };
  };
  return step;
}

}  // namespace mangrove
