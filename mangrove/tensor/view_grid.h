#pragma once

#include <cstdint>
#include <vector>

namespace mangrove {

/// A part of an image: rows [top, bottom), columns [left, right).
struct ImagePart {
  std::int64_t top, bottom, left, right;
  bool operator==(const ImagePart&) const = default;
};

/// An image as so many devices see it, each a part of it: all of one size, on a grid as square as their number allows
/// (6: two rows of three), row by row. Where the grid does not divide a side, neighbours overlap.
/// views: at least 1. No part is empty where the image has at least `views` rows and columns.
std::vector<ImagePart> view_grid(std::int64_t views, std::int64_t height, std::int64_t width);

}  // namespace mangrove
