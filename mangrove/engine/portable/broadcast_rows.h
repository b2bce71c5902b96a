#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "mangrove/tensor/shape.h"

namespace mangrove::portable {

/// Up to three inputs seen in the shape of the result that they are broadcast to, as rows along which each input either
/// goes on with the result or stays on one element. Dimensions are taken together where all inputs allow it: inputs of
/// the result's shape are one row; [N, C, H, W] and [C, 1, 1] are N C rows of H W elements.
class BroadcastRows {
 public:
  static constexpr std::size_t kMostInputs = 3;
  using Offsets = std::array<std::int64_t, kMostInputs>;

  /// What is called for a part of a row. It refers to a function that outlives it; so whatever goes over rows is
  /// compiled once, and no memory is taken for the call.
  class Visit {
   public:
    template <class F>
    Visit(const F& visit)  // NOLINT(google-explicit-constructor): a lambda becomes one
        : visit_(&visit), call_([](const void* f, std::int64_t to, const Offsets& from, std::int64_t elements) {
            (*static_cast<const F*>(f))(to, from, elements);
          }) {}
    void operator()(std::int64_t to, const Offsets& from, std::int64_t elements) const {
      call_(visit_, to, from, elements);
    }

   private:
    const void* visit_;
    void (*call_)(const void*, std::int64_t, const Offsets&, std::int64_t);
  };

  BroadcastRows(const std::vector<Shape>& inputs, const Shape& output);
  BroadcastRows(const Shape& input, const Shape& output) : BroadcastRows(std::vector<Shape>{input}, output) {}

  /// Of input k along a row: 1, or 0 where one element meets the whole row.
  std::int64_t stride(std::size_t k = 0) const { return strides_[k]; }

  /// Calls visit(offset in the output, offsets in the inputs, elements) for parts of rows, which `threads` threads
  /// share.
  void for_each_part(int threads, Visit visit) const;
  /// Visits parts of rows likewise, for a visit that adds to input k. No two threads meet an element of that input, and
  /// each element is met in the same order whatever the number of threads.
  void for_each_part_adding_to(std::size_t k, int threads, Visit visit) const;

 private:
  std::int64_t rows() const;
  /// Where a row of the output begins in each input.
  Offsets offsets(std::int64_t row) const;
  struct Dim {
    std::int64_t size;
    Offsets strides;
  };

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
