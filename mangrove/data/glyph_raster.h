#pragma once

#include <array>
#include <span>

namespace mangrove::data {

struct PixelPoint {
  float x;  // pixels to the right of the left edge
  float y;  // pixels below the upper edge
};

/// A pen: a round tip, and how soft the edge of its line is.
struct Pen {
  float width;  // pixels
  float edge;   // pixels over which ink fades to nothing, half of them inside the line
};

/// A square of 28 x 28 pixels that remembers how far each pixel is from the nearest line drawn. Plain IEEE arithmetic
/// in a fixed order: bit-equal everywhere, if compiled without fused multiply-add.
class GlyphCanvas {
 public:
  static constexpr int kSide = 28;
  static constexpr int kPixels = kSide * kSide;

  explicit GlyphCanvas(Pen pen);

  /// Draws the straight line between two points; parts outside of the canvas are cut off.
  void line(PixelPoint from, PixelPoint to);
  /// Draws a smooth curve through the points, straight between one and the next in the `steps` parts of each section.
  /// A loop goes on from the last point to the first.
  void curve(std::span<const PixelPoint> points, bool loop);

  /// Ink of each pixel: 0 none, 1 full.
  void ink(std::span<float, kPixels> out) const;

 private:
  Pen pen_;
  float reach_;                                  // pixels from a line further than this stay clean
  std::array<float, kPixels> squared_distance_;  // to the nearest line
};

}  // namespace mangrove::data
