#include "mangrove/graph/axis.h"

#include <string>

namespace mangrove {

Result<std::size_t> resolve_axis(std::int64_t axis, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (axis < -rank || axis >= rank) {
    return make_error(Code::invalid_argument,
                      "axis " + std::to_string(axis) + " is not a dimension of shape " + to_string(shape));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace mangrove
