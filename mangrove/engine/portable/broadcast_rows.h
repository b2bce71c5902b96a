#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/tensor/shape.h"

namespace mangrove::portable {

/// An input seen in the shape of the result that it is broadcast to, as rows along the last dimension.
class BroadcastRows {
 public:
  BroadcastRows(const Shape& input, const Shape& output) {
    if (input == output) {  // one long row
      length_ = output.elements();
      return;
    }
    const std::size_t rank = output.rank();
    std::int64_t stride = 1;
    std::vector<std::int64_t> strides(rank, 0);
    for (std::size_t i = 0; i < input.rank(); ++i) {
      const std::size_t from_last = input.rank() - 1 - i;
      if (input[from_last] != 1) strides[rank - 1 - i] = stride;
      stride *= input[from_last];
    }
    length_ = rank == 0 ? 1 : output[rank - 1];
    stride_ = rank == 0 ? 0 : strides[rank - 1];
    for (std::size_t i = 0; i + 1 < rank; ++i) {
      dims_.push_back(output[i]);
      strides_.push_back(strides[i]);
    }
  }

  std::int64_t length() const { return length_; }
  /// Of the input along a row: 1, or 0 where one element meets the whole row.
  std::int64_t stride() const { return stride_; }

  /// visit(offset in the output, offset in the input) for every row.
  template <class Visit>
  void for_each(Visit visit) const {
    std::int64_t rows = 1;
    for (const std::int64_t dim : dims_) rows *= dim;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t rest = row, offset = 0;
      for (std::size_t i = dims_.size(); i-- > 0; rest /= dims_[i]) offset += rest % dims_[i] * strides_[i];
      visit(row * length_, offset);
    }
  }

 private:
  std::vector<std::int64_t> dims_, strides_;  // of all dimensions but the last
  std::int64_t length_ = 0;
  std::int64_t stride_ = 1;
};

/// dst[i] += scale src[i], src broadcast.
template <class T>
void add_broadcast(const BroadcastRows& rows, T scale, const T* src, T* dst) {
  rows.for_each([&](std::int64_t to, std::int64_t from) {
    const std::int64_t n = rows.length();
    if (rows.stride() == 0) {
      const T term = scale * src[from];
      for (std::int64_t i = 0; i < n; ++i) dst[to + i] += term;
    } else {
      for (std::int64_t i = 0; i < n; ++i) dst[to + i] += scale * src[from + i];
    }
  });
}

/// The transpose: diff_src[j] = scale times the sum of all diff_dst[i] that src[j] was broadcast to.
template <class T>
void sum_broadcast(const BroadcastRows& rows, T scale, const T* diff_dst, std::int64_t src_elements, T* diff_src) {
  for (std::int64_t j = 0; j < src_elements; ++j) diff_src[j] = T(0);
  rows.for_each([&](std::int64_t to, std::int64_t from) {
    for (std::int64_t i = 0; i < rows.length(); ++i) diff_src[from + i * rows.stride()] += scale * diff_dst[to + i];
  });
}

}  // namespace mangrove::portable
