#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mangrove::portable {

/// The elements of a box of `dims`, read and written with a stride per dimension: what Transpose, Concat, Split and
/// their like are made of. Strides and offsets count elements; a stride of 0 in `from` repeats an element.
struct StridedCopy {
  std::vector<std::int64_t> dims, from_strides, to_strides;
  std::int64_t from_offset = 0, to_offset = 0;

  /// The same elements the other way.
  StridedCopy reversed() const { return {dims, to_strides, from_strides, to_offset, from_offset}; }
};

/// Row-major strides of a dense array with these dimensions.
inline std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

/// The copy with dimensions of size 1 left out, and neighbours that lie alike on both sides merged.
StridedCopy coalesced(const StridedCopy& copy);

/// Elements of `element_bytes` (1, 4 or 8) from `from` to `to`, which do not overlap. `copy` coalesced runs faster.
/// Threads share the first dimension.
void run(const StridedCopy& copy, std::size_t element_bytes, int threads, const std::byte* from, std::byte* to);

/// to += from. Where the copy's strides in `to` are 0, elements of `from` are added up.
template <class T>
void add(const StridedCopy& copy, const T* from, T* to) {
  const auto visit = [&](const auto& self, std::size_t axis, const T* src, T* dst) -> void {
    if (axis == copy.dims.size()) {
      *dst += *src;
      return;
    }
    for (std::int64_t i = 0; i < copy.dims[axis]; ++i) {
      self(self, axis + 1, src + i * copy.from_strides[axis], dst + i * copy.to_strides[axis]);
    }
  };
  visit(visit, 0, from + copy.from_offset, to + copy.to_offset);
}

}  // namespace mangrove::portable
