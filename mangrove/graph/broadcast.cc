#include "mangrove/graph/broadcast.h"

#include <algorithm>
#include <vector>

namespace mangrove {

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t from_a = i + a.rank() < rank ? 1 : a[i + a.rank() - rank];
    const std::int64_t from_b = i + b.rank() < rank ? 1 : b[i + b.rank() - rank];
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return make_error(Code::invalid_argument, "shapes do not broadcast: " + to_string(a) + " and " + to_string(b));
    }
    dims[i] = from_a == 1 ? from_b : from_a;
  }
  if (std::count_if(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; }) > 1) {
    return make_error(Code::invalid_argument, "broadcasting " + to_string(a) + " and " + to_string(b) +
                                                  " would have the batch in two dimensions");
  }
  return Shape(std::move(dims));
}

}  // namespace mangrove
