#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace mangrove {

/// Rows, or columns, [begin, end).
struct Interval {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// Rows [top, bottom) and columns [left, right) of the planes of a map, a value [N, C, H, W].
struct Region {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;

  std::int64_t rows() const { return bottom - top; }
  std::int64_t columns() const { return right - left; }
  std::int64_t area() const { return is_empty() ? 0 : rows() * columns(); }
  bool is_empty() const { return bottom <= top || right <= left; }
  /// What both have; empty where they have nothing in common.
  Region intersection(const Region& other) const {
    return {std::max(top, other.top), std::max(left, other.left), std::min(bottom, other.bottom),
            std::min(right, other.right)};
  }
  /// The smallest region that contains both. An empty one adds nothing.
  Region bounding_box(const Region& other) const {
    if (is_empty()) return other;
    if (other.is_empty()) return *this;
    return {std::min(top, other.top), std::min(left, other.left), std::max(bottom, other.bottom),
            std::max(right, other.right)};
  }
  bool contains(const Region& other) const {
    return top <= other.top && left <= other.left && bottom >= other.bottom && right >= other.right;
  }
  bool operator==(const Region&) const = default;
};

/// Whether regions have each place of a plane once, and nothing else. None may be empty.
bool cover(std::span<const Region> regions, const Region& plane);

}  // namespace mangrove
