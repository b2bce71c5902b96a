#include "mangrove/engine/portable/strided_copy.h"

#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/engine/in_parallel.h"

namespace mangrove::portable {
namespace {

constexpr std::int64_t kTile = 16;  // a tile of 16 x 16 4-byte elements touches 16 cache lines on each side

template <class T>
void copy_row(std::int64_t n, const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// `count` indexes of the last dimension but one in tiles, so that a transpose reads and writes each cache line once.
template <class T>
void copy_plane(const StridedCopy& copy, std::int64_t count, const T* from, T* to) {
  const std::size_t row = copy.dims.size() - 2, column = copy.dims.size() - 1;
  for (std::int64_t i0 = 0; i0 < count; i0 += kTile) {
    const std::int64_t rows = std::min(kTile, count - i0);
    for (std::int64_t j0 = 0; j0 < copy.dims[column]; j0 += kTile) {
      const std::int64_t columns = std::min(kTile, copy.dims[column] - j0);
      for (std::int64_t i = i0; i < i0 + rows; ++i) {
        copy_row(columns, from + i * copy.from_strides[row] + j0 * copy.from_strides[column], copy.from_strides[column],
                 to + i * copy.to_strides[row] + j0 * copy.to_strides[column], copy.to_strides[column]);
      }
    }
  }
}

// `count` indexes of dimension `axis`, with all that is inside.
template <class T>
void copy_box(const StridedCopy& copy, std::size_t axis, std::int64_t count, const T* from, T* to) {
  const std::size_t left = copy.dims.size() - axis;
  if (left == 1) {
    copy_row(count, from, copy.from_strides[axis], to, copy.to_strides[axis]);
  } else if (left == 2 && (copy.from_strides[axis + 1] != 1 || copy.to_strides[axis + 1] != 1)) {
    copy_plane(copy, count, from, to);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      copy_box(copy, axis + 1, copy.dims[axis + 1], from + i * copy.from_strides[axis], to + i * copy.to_strides[axis]);
    }
  }
}

template <class T>
void run_typed(const StridedCopy& copy, int threads, const std::byte* from, std::byte* to) {
  const T* source = reinterpret_cast<const T*>(from) + copy.from_offset;
  T* target = reinterpret_cast<T*>(to) + copy.to_offset;
  if (copy.dims.empty()) {
    *target = *source;
    return;
  }
  std::int64_t elements = 1;
  for (const std::int64_t dim : copy.dims) elements *= dim;
  in_ranges(copy.dims[0], threads_for(elements, threads), [&](std::int64_t first, std::int64_t last) {
    copy_box(copy, 0, last - first, source + first * copy.from_strides[0], target + first * copy.to_strides[0]);
  });
}

}  // namespace

StridedCopy coalesced(const StridedCopy& copy) {
  StridedCopy result{{}, {}, {}, copy.from_offset, copy.to_offset};
  for (std::size_t i = 0; i < copy.dims.size(); ++i) {
    const std::int64_t dim = copy.dims[i], from = copy.from_strides[i], to = copy.to_strides[i];
    if (dim == 1) continue;
    if (!result.dims.empty() && result.from_strides.back() == from * dim && result.to_strides.back() == to * dim) {
      result.dims.back() *= dim;
      result.from_strides.back() = from;
      result.to_strides.back() = to;
    } else {
      result.dims.push_back(dim);
      result.from_strides.push_back(from);
      result.to_strides.push_back(to);
    }
  }
  return result;
}

void run(const StridedCopy& copy, std::size_t element_bytes, int threads, const std::byte* from, std::byte* to) {
  if (std::find(copy.dims.begin(), copy.dims.end(), 0) != copy.dims.end()) return;
  switch (element_bytes) {
    case 1:
      return run_typed<std::uint8_t>(copy, threads, from, to);
    case 4:
      return run_typed<std::uint32_t>(copy, threads, from, to);
    case 8:
      return run_typed<std::uint64_t>(copy, threads, from, to);
    default:
      MG_CHECK_MSG(false, "no element type has this size");
  }
}

}  // namespace mangrove::portable
