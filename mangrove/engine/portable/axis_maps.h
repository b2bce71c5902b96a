#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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
  void pick(const T* x, T fill, T* y) const {
    for_each_run([&](std::int64_t to, std::int64_t from, std::int64_t n) {
      if (from == kNone) {
        std::fill_n(y + to, n, fill);
      } else {
        std::copy_n(x + from, n, y + to);
      }
    });
  }

  /// The transpose: dx[j] = sum of dy[i] over all i that pick j.
  template <class T>
  void add_back(const T* dy, T* dx) const {
    std::fill_n(dx, data_elements_, T(0));
    for_each_run([&](std::int64_t to, std::int64_t from, std::int64_t n) {
      if (from == kNone) return;
      for (std::int64_t i = 0; i < n; ++i) dx[from + i] += dy[to + i];
    });
  }

 private:
  /// Neighbours in the result that are neighbours in the data, or all kNone.
  struct Run {
    std::int64_t to, from, count;
  };

  /// visit(offset in the result, offset in the data or kNone, elements), in the order of the result.
  template <class Visit>
  void for_each_run(Visit visit) const {
    visit_axis(0, 0, 0, visit);
  }
  template <class Visit>
  void visit_axis(std::size_t axis, std::int64_t to, std::int64_t from, Visit& visit) const {
    if (axis == outer_.size()) {
      for (const Run& run : runs_) visit(to + run.to, run.from == kNone ? kNone : from + run.from, run.count);
      return;
    }
    const Outer& outer = outer_[axis];
    for (std::size_t i = 0; i < outer.from.size(); ++i, to += outer.pitch) {
      if (outer.from[i] == kNone) {
        visit(to, kNone, outer.pitch);
      } else {
        visit_axis(axis + 1, to, from + outer.from[i], visit);
      }
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
};

}  // namespace mangrove::portable
