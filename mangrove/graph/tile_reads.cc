#include "mangrove/graph/tile_reads.h"

namespace mangrove {
namespace {

Region region_of(Interval rows, Interval columns) {
  return {rows.begin, columns.begin, rows.end, columns.end};
}

}  // namespace

Region TileRead::read(const Region& made) const {
  return region_of(rows_read(axes[0], interval(made, 0)), rows_read(axes[1], interval(made, 1)));
}

Region TileReads::made(const Region& wanted) const {
  const std::array<TileAxis, 2>& axes = maps[0].axes;  // with several inputs, all is made at its place
  return region_of(rows_made(axes[0], interval(wanted, 0)), rows_made(axes[1], interval(wanted, 1)));
}

}  // namespace mangrove
