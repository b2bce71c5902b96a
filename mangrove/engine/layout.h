#pragma once

#include <memory>
#include <string>

#include "mangrove/base/units.h"

namespace mangrove {

/// How a value lies in memory, when not plain. Each backend has its own (oneDNN: blocked formats); only the backend
/// that made a Layout can read it. Immutable.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual Bytes bytes() const = 0;
  virtual bool equals(const Layout& other) const = 0;
  /// Whether a plain value can be brought into this layout, but not back or into another (weights transformed for
  /// Winograd's convolution).
  virtual bool is_one_way() const { return false; }
  virtual std::string describe() const = 0;  // "nChw16c", for traces
};

/// Null means plain: dense, row-major, as in a Tensor.
using LayoutPtr = std::shared_ptr<const Layout>;

inline bool same_layout(const LayoutPtr& a, const LayoutPtr& b) {
  return a == b || (a && b && a->equals(*b));
}

}  // namespace mangrove
