#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/engine/in_parallel.h"
#include "mangrove/tensor/shape.h"

namespace mangrove::portable {

/// Up to three inputs seen in the shape of the result that they are broadcast to, as rows along which each input either
/// goes on with the result or stays on one element. Dimensions are taken together where all inputs allow it: inputs of
/// the result's shape are one row; [N, C, H, W] and [C, 1, 1] are N C rows of H W elements.
class BroadcastRows {
 public:
  static constexpr std::size_t kMostInputs = 3;

  BroadcastRows(const std::vector<Shape>& inputs, const Shape& output) : inputs_(inputs.size()) {
    MG_CHECK(inputs_ <= kMostInputs);
    std::vector<Dim> dims;  // outermost first, neighbours merged
    for (std::size_t i = 0; i < output.rank(); ++i) {
      if (output[i] == 1) continue;
      Dim next{output[i], {}};
      for (std::size_t k = 0; k < inputs_; ++k)
        next.strides[k] = stride_of(inputs[k], i + inputs[k].rank(), output.rank());
      if (!dims.empty() && can_merge(dims.back(), next)) {
        next.size *= dims.back().size;
        dims.pop_back();
      }
      dims.push_back(next);
    }
    if (dims.empty()) return;
    length_ = dims.back().size;
    strides_ = dims.back().strides;
    dims.pop_back();
    outer_ = std::move(dims);
  }
  BroadcastRows(const Shape& input, const Shape& output) : BroadcastRows(std::vector<Shape>{input}, output) {}

  /// Of input k along a row: 1, or 0 where one element meets the whole row.
  std::int64_t stride(std::size_t k = 0) const { return strides_[k]; }

  /// visit(offset in the output, offsets in the inputs, elements) for parts of rows, which `threads` threads share.
  template <class Visit>
  void for_each_part(int threads, Visit visit) const {
    const std::int64_t rows = this->rows();
    in_ranges(rows * length_, threads_for(rows * length_, threads), [&](std::int64_t first, std::int64_t last) {
      while (first < last) {
        const std::int64_t in_row = first % length_, count = std::min(length_ - in_row, last - first);
        Offsets from = offsets(first / length_);
        for (std::size_t k = 0; k < inputs_; ++k) from[k] += in_row * strides_[k];
        visit(first, from, count);
        first += count;
      }
    });
  }
  /// Visits parts of rows likewise, for a visit that adds to input k. No two threads meet an element of that input, and
  /// each element is met in the same order whatever the number of threads.
  template <class Visit>
  void for_each_part_adding_to(std::size_t k, int threads, Visit visit) const {
    const std::int64_t rows = this->rows();
    if (rows * length_ == 0) return;
    threads = threads_for(rows * length_, threads);
    const auto shared = std::find_if(outer_.begin(), outer_.end(), [k](const Dim& dim) { return dim.strides[k] != 0; });
    if (shared == outer_.end()) {  // all rows meet the same elements
      in_ranges(length_, strides_[k] == 0 ? 1 : threads, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = 0; row < rows; ++row) {
          Offsets from = offsets(row);
          for (std::size_t i = 0; i < inputs_; ++i) from[i] += first * strides_[i];
          visit(row * length_ + first, from, last - first);
        }
      });
      return;
    }
    std::int64_t inner = 1;  // rows for each index of the dimension that threads share
    for (auto dim = shared + 1; dim != outer_.end(); ++dim) inner *= dim->size;
    in_ranges(shared->size, threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t outer = 0; outer < rows; outer += shared->size * inner) {
        for (std::int64_t row = outer + first * inner; row < outer + last * inner; ++row)
          visit(row * length_, offsets(row), length_);
      }
    });
  }

 private:
  using Offsets = std::array<std::int64_t, kMostInputs>;

  std::int64_t rows() const {
    std::int64_t rows = 1;
    for (const Dim& dim : outer_) rows *= dim.size;
    return rows;
  }
  /// Where a row of the output begins in each input.
  Offsets offsets(std::int64_t row) const {
    Offsets from{};
    for (std::size_t i = outer_.size(); i-- > 0; row /= outer_[i].size) {
      const std::int64_t index = row % outer_[i].size;
      for (std::size_t k = 0; k < inputs_; ++k) from[k] += index * outer_[i].strides[k];
    }
    return from;
  }
  struct Dim {
    std::int64_t size;
    Offsets strides;
  };

  // Elements of the input between neighbours along a dimension of the output; `i` counts from where both end.
  static std::int64_t stride_of(const Shape& input, std::size_t i, std::size_t output_rank) {
    if (i < output_rank || input[i - output_rank] == 1) return 0;
    return input.elements(i - output_rank + 1, input.rank());
  }

  bool can_merge(const Dim& outer, const Dim& inner) const {
    for (std::size_t k = 0; k < inputs_; ++k) {
      if (outer.strides[k] != inner.strides[k] * inner.size) return false;
    }
    return true;
  }

  std::size_t inputs_;
  std::vector<Dim> outer_;
  std::int64_t length_ = 1;
  Offsets strides_{};
};

/// loop(stride of a, stride of b), each 0 or 1, as constants that the compiler knows, so that it vectorises the loop.
template <class Loop>
void with_constant_strides(std::int64_t a, std::int64_t b, Loop loop) {
  using Still = std::integral_constant<std::int64_t, 0>;
  using Along = std::integral_constant<std::int64_t, 1>;
  if (a == 1 && b == 1) return loop(Along(), Along());
  if (a == 1) return loop(Along(), Still());
  if (b == 1) return loop(Still(), Along());
  loop(Still(), Still());
}

/// dst[i] += scale src[i], src broadcast.
template <class T>
void add_broadcast(const BroadcastRows& rows, int threads, T scale, const T* src, T* dst) {
  rows.for_each_part(threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
    with_constant_strides(1, rows.stride(), [&](auto, auto stride) {
      for (std::int64_t i = 0; i < count; ++i) dst[to + i] += scale * src[from[0] + i * stride];
    });
  });
}

/// The transpose: diff_src[j] = scale times the sum of all diff_dst[i] that src[j] was broadcast to.
template <class T>
void sum_broadcast(const BroadcastRows& rows, int threads, T scale, const T* diff_dst, std::int64_t src_elements,
                   T* diff_src) {
  std::fill_n(diff_src, src_elements, T(0));
  rows.for_each_part_adding_to(0, threads, [&](std::int64_t to, const auto& from, std::int64_t count) {
    with_constant_strides(1, rows.stride(), [&](auto, auto stride) {
      for (std::int64_t i = 0; i < count; ++i) diff_src[from[0] + i * stride] += scale * diff_dst[to + i];
    });
  });
}

}  // namespace mangrove::portable
