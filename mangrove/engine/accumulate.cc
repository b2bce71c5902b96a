#include "mangrove/engine/accumulate.h"

#include <cstddef>
#include <cstring>

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

template <class T>
void accumulate(std::byte* sum_bytes, const std::byte* term_bytes, Bytes bytes) {
  auto* sum = reinterpret_cast<T*>(sum_bytes);
  const auto* term = reinterpret_cast<const T*>(term_bytes);
  const std::size_t elements = static_cast<std::size_t>(bytes) / sizeof(T);
  for (std::size_t i = 0; i < elements; ++i) sum[i] += term[i];
}

using Accumulate = void (*)(std::byte* sum, const std::byte* term, Bytes bytes);

Result<SlicedStep> sliced(Accumulate add, Bytes bytes, Bytes element, int slices) {
  if (bytes % (slices * element) != 0) return make_error(Code::unimplemented, "slices of uneven size");
  SlicedStep step;
  step.bind = [add, bytes = bytes / slices](std::span<const SliceBuffer> buffers, std::byte*) -> SlicedStep::Bound {
    return [add, bytes, sum = buffers[0], term = buffers[1]](int slice) {
      add(sum.start + slice * sum.stride, term.start + slice * term.stride, bytes);
    };
  };
  return step;
}

}  // namespace

Step accumulate_step(DType dtype, Bytes bytes) {
  MG_CHECK(dtype == DType::f32 || dtype == DType::f64);
  const Accumulate add = dtype == DType::f32 ? &accumulate<float> : &accumulate<double>;
  Step step;
  step.bind = [add, bytes](std::span<std::byte* const> buffers, std::byte*) -> Step::Bound {
    return [add, bytes, sum = buffers[0], term = buffers[1]] { add(sum, term, bytes); };
  };
  const auto element = static_cast<Bytes>(size_of(dtype));
  step.slicing = Slicing{{true, true, true}, [=](int slices) { return sliced(add, bytes, element, slices); }};
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
