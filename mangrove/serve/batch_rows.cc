#include "mangrove/serve/batch_rows.h"

#include <cstring>

namespace mangrove::serve {
namespace {

/// The array as `outer` runs of its samples, of which each takes `entry` bytes there.
struct RowGeometry {
  std::int64_t outer = 1;
  std::int64_t entry = 1;
};

RowGeometry geometry_of(const ValueInfo& info, std::size_t axis) {
  const Shape& shape = info.shape;
  return {shape.elements(0, axis),
          static_cast<std::int64_t>(size_of(info.dtype)) * shape.elements(axis + 1, shape.rank())};
}

}  // namespace

void copy_rows(const ValueInfo& info, BatchRows<const std::byte> from, BatchRows<std::byte> to, std::int64_t count) {
  const auto axis = info.shape.batch_axis();
  if (!axis) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(info.shape.elements()) * size_of(info.dtype));
    return;
  }
  const RowGeometry rows = geometry_of(info, *axis);
  for (std::int64_t i = 0; i < rows.outer; ++i)
    std::memcpy(to.data + (i * to.size + to.first) * rows.entry, from.data + (i * from.size + from.first) * rows.entry,
                static_cast<std::size_t>(count * rows.entry));
}

void clear_rows(const ValueInfo& info, BatchRows<std::byte> rows, std::int64_t count) {
  const auto axis = info.shape.batch_axis();
  if (!axis) return;
  const RowGeometry geometry = geometry_of(info, *axis);
  for (std::int64_t i = 0; i < geometry.outer; ++i)
    std::memset(rows.data + (i * rows.size + rows.first) * geometry.entry, 0,
                static_cast<std::size_t>(count * geometry.entry));
}

}  // namespace mangrove::serve
