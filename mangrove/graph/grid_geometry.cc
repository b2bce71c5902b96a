#include "mangrove/graph/grid_geometry.h"

#include <string>

namespace mangrove {

Result<GridGeometry> grid_geometry(const Node& node, const Shape& data, const Shape& grid) {
  const std::string shapes = "data " + to_string(data) + " and grid " + to_string(grid);
  if (data.rank() != 4 || grid.rank() != 4 || !data.allows_batch_first() || !grid.allows_batch_first())
    return make_error(Code::unimplemented, shapes + ", expected [N, C, H, W] and [N, H, W, 2]");
  if (data[0] != grid[0] || grid[3] != 2 || data[2] < 1 || data[3] < 1)
    return make_error(Code::invalid_argument, shapes + ", expected [N, C, H, W] and [N, H, W, 2] of one batch");
  GridGeometry geometry{.batch = data[0],
                        .channels = data[1],
                        .height = data[2],
                        .width = data[3],
                        .output_height = grid[1],
                        .output_width = grid[2]};
  geometry.align_corners = node.int_or("align_corners", 0) != 0;
  const std::string mode = node.string_or("mode", "bilinear"), padding = node.string_or("padding_mode", "zeros");
  if (mode == "bicubic") return make_error(Code::unimplemented, "attribute mode 'bicubic' is not supported");
  if (mode != "bilinear" && mode != "nearest")
    return make_error(Code::invalid_argument, "attribute mode is '" + mode + "', expected bilinear or nearest");
  geometry.is_nearest = mode == "nearest";
  if (padding == "zeros") return geometry;
  geometry.padding = padding == "border" ? GridGeometry::Padding::border : GridGeometry::Padding::reflection;
  if (padding == "border" || padding == "reflection") return geometry;
  return make_error(Code::invalid_argument,
                    "attribute padding_mode is '" + padding + "', expected zeros, border or reflection");
}

}  // namespace mangrove
