#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/tensor/shape.h"

namespace mangrove::portable {

/// y[i, j, ...] = x[map0[i], map1[j], ...]: each dimension of the result picks elements of the same dimension of the
/// data, or none (kNone). Slice, Pad and nearest-neighbour Resize are of this kind.
class AxisMaps {
 public:
  static constexpr std::int64_t kNone = -1;

  /// maps[k][i]: what index i of the result's dimension k picks, in [0, data[k]) or kNone.
  AxisMaps(const Shape& data, const std::vector<std::vector<std::int64_t>>& maps);

  /// `fill` where a dimension picks none. T: any type of the data's size.
  template <class T>
  void pick(int threads, const T* x, T fill, T* y) const {
    for_each_run(threads, [&](std::int64_t to, std::int64_t from, std::int64_t n) {
      if (from == kNone) {
        std::fill_n(y + to, n, fill);
      } else {
        std::copy_n(x + from, n, y + to);
      }
    });
  }

  /// The transpose: dx[j] = sum of dy[i] over all i that pick j.
  template <class T>
  void add_back(int threads, const T* dy, T* dx) const {
    std::fill_n(dx, data_elements_, T(0));
    for_each_run(picks_each_once_ ? threads : 1, [&](std::int64_t to, std::int64_t from, std::int64_t n) {
      if (from == kNone) return;
      for (std::int64_t i = 0; i < n; ++i) dx[from + i] += dy[to + i];
    });
  }

 private:
  /// Neighbours in the result that are neighbours in the data, or all kNone.
  struct Run {
    std::int64_t to, from, count;
  };

  /// visit(offset in the result, offset in the data or kNone, elements); threads share the outermost dimension, and
  /// each goes in the order of the result.
  template <class Visit>
  void for_each_run(int threads, Visit visit) const {
    if (outer_.empty()) return visit_axis(0, 0, 0, visit);
    const auto size = static_cast<std::int64_t>(outer_[0].from.size());
    in_parallel(size, threads_for(size * outer_[0].pitch, threads),
                [&](std::int64_t i) { visit_index(0, i, 0, 0, visit); });
  }
  template <class Visit>
  void visit_axis(std::size_t axis, std::int64_t to, std::int64_t from, Visit& visit) const {
    if (axis == outer_.size()) {
      for (const Run& run : runs_) visit(to + run.to, run.from == kNone ? kNone : from + run.from, run.count);
      return;
    }
    const auto size = static_cast<std::int64_t>(outer_[axis].from.size());
    for (std::int64_t i = 0; i < size; ++i) visit_index(axis, i, to, from, visit);
  }
  /// One index of a dimension, in the block of the result that begins at `to`.
  template <class Visit>
  void visit_index(std::size_t axis, std::int64_t i, std::int64_t to, std::int64_t from, Visit& visit) const {
    const Outer& outer = outer_[axis];
    const std::int64_t picked = outer.from[static_cast<std::size_t>(i)];
    if (picked == kNone) {
      visit(to + i * outer.pitch, kNone, outer.pitch);
    } else {
      visit_axis(axis + 1, to + i * outer.pitch, from + picked, visit);
    }
  }

  /// A dimension outside of the runs: offsets in the data of what it picks; elements of the result per index.
  struct Outer {
    std::vector<std::int64_t> from;
    std::int64_t pitch;
  };
  std::vector<Outer> outer_;
  std::vector<Run> runs_;  // along the innermost dimension that is not copied whole
  std::int64_t data_elements_;
  bool picks_each_once_ = true;  // along the outermost dimension
};

}  // namespace mangrove::portable
