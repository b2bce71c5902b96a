#pragma once

#include <cstdint>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/tensor/shape.h"

namespace mangrove::portable {

/// A shape seen as rows along one axis: elements `stride` apart.
struct AxisRows {
  std::int64_t length;  // elements of a row
  std::int64_t stride;  // between neighbours in a row
  std::int64_t outer;   // rows are counted by (outer, stride)

  AxisRows(const Shape& shape, std::size_t axis)
      : length(shape[axis]), stride(shape.elements(axis + 1, shape.rank())), outer(shape.elements(0, axis)) {}

  std::int64_t rows() const { return outer * stride; }
  /// Offset of the first element of a row.
  std::int64_t begin(std::int64_t row) const { return row / stride * (stride * length) + row % stride; }
  /// Calls visit(offset of its first element) for each row; `threads` threads share the rows.
  template <class Visit>
  void for_each(int threads, Visit visit) const {
    in_parallel(rows(), threads_for(rows() * length, threads), [&](std::int64_t row) { visit(begin(row)); });
  }
};

}  // namespace mangrove::portable
