#include "mangrove/engine/accumulate.h"

#include <cstddef>
#include <cstring>

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

template <class T>
Step::Bound bind_accumulate(std::byte* sum_bytes, const std::byte* term_bytes, Bytes bytes) {
  auto* sum = reinterpret_cast<T*>(sum_bytes);
  const auto* term = reinterpret_cast<const T*>(term_bytes);
  const std::size_t elements = static_cast<std::size_t>(bytes) / sizeof(T);
  return [=] {
    for (std::size_t i = 0; i < elements; ++i) sum[i] += term[i];
  };
}

}  // namespace

Step accumulate_step(DType dtype, Bytes bytes) {
  MG_CHECK(dtype == DType::f32 || dtype == DType::f64);
  Step step;
  step.bind = [dtype, bytes](std::span<std::byte* const> buffers, std::byte*) {
    return dtype == DType::f32 ? bind_accumulate<float>(buffers[0], buffers[1], bytes)
                               : bind_accumulate<double>(buffers[0], buffers[1], bytes);
  };
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
