#include "mangrove/cli/sources/batch_copy.h"

#include <cstring>

namespace mangrove::cli {

void copy_samples(const Tensor& source, SampleRange from, Tensor& target, std::int64_t to_first, std::size_t axis) {
  const Shape& shape = source.shape();
  const std::int64_t outer = shape.elements(0, axis);
  const auto entry = static_cast<std::int64_t>(size_of(source.dtype())) * shape.elements(axis + 1, shape.rank());
  for (std::int64_t i = 0; i < outer; ++i) {
    const std::byte* begin = source.data() + (i * shape[axis] + from.first) * entry;
    std::memcpy(target.data() + (i * target.shape()[axis] + to_first) * entry, begin,
                static_cast<std::size_t>(from.count * entry));
  }
}

}  // namespace mangrove::cli
