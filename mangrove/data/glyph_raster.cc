#include "mangrove/data/glyph_raster.h"

#include <algorithm>
#include <cmath>

namespace mangrove::data {
namespace {

constexpr int kPartsOfSection = 4;  // straight parts between two points of a curve; sections are about 6 pixels long
constexpr float kFar = 1e6f;

/// The Catmull-Rom spline between b and c, at t in [0, 1].
PixelPoint spline(PixelPoint a, PixelPoint b, PixelPoint c, PixelPoint d, float t) {
  const auto along = [t](float p, float q, float r, float s) {
    return 0.5f * (2 * q + t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * q - p - 3 * r + s))));
  };
  return {along(a.x, b.x, c.x, d.x), along(a.y, b.y, c.y, d.y)};
}

/// Pixels whose centres may lie in [low, high], cut to the canvas.
std::pair<int, int> pixels_between(float low, float high) {
  const auto side = static_cast<float>(GlyphCanvas::kSide);
  return {static_cast<int>(std::clamp(low - 0.5f, 0.0f, side)), static_cast<int>(std::clamp(high + 0.5f, 0.0f, side))};
}

}  // namespace

GlyphCanvas::GlyphCanvas(Pen pen) : pen_(pen), reach_((pen.width + pen.edge) / 2) {
  squared_distance_.fill(kFar);
}

void GlyphCanvas::line(PixelPoint from, PixelPoint to) {
  const float dx = to.x - from.x;
  const float dy = to.y - from.y;
  const float squared_length = dx * dx + dy * dy;
  const float scale = squared_length > 0 ? 1 / squared_length : 0;
  const auto [left, right] = pixels_between(std::min(from.x, to.x) - reach_, std::max(from.x, to.x) + reach_);
  const auto [top, bottom] = pixels_between(std::min(from.y, to.y) - reach_, std::max(from.y, to.y) + reach_);
  for (int row = top; row < bottom; ++row) {
    const float py = static_cast<float>(row) + 0.5f - from.y;
    float* const nearest = &squared_distance_[static_cast<std::size_t>(row * kSide)];
    for (int column = left; column < right; ++column) {
      const float px = static_cast<float>(column) + 0.5f - from.x;
      const float t = std::clamp((px * dx + py * dy) * scale, 0.0f, 1.0f);
      const float ex = px - t * dx;
      const float ey = py - t * dy;
      nearest[column] = std::min(nearest[column], ex * ex + ey * ey);
    }
  }
}

void GlyphCanvas::curve(std::span<const PixelPoint> points, bool loop) {
  const auto n = static_cast<int>(points.size());
  const auto at = [&](int i) { return points[static_cast<std::size_t>(loop ? (i + n) % n : std::clamp(i, 0, n - 1))]; };
  const int sections = loop ? n : n - 1;
  for (int i = 0; i < sections; ++i) {
    PixelPoint from = at(i);
    for (int part = 1; part <= kPartsOfSection; ++part) {
      const float t = static_cast<float>(part) / static_cast<float>(kPartsOfSection);
      const PixelPoint to = spline(at(i - 1), at(i), at(i + 1), at(i + 2), t);
      line(from, to);
      from = to;
    }
  }
}

void GlyphCanvas::ink(std::span<float, kPixels> out) const {
  const float scale = 1 / pen_.edge;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::clamp((reach_ - std::sqrt(squared_distance_[i])) * scale, 0.0f, 1.0f);
}

}  // namespace mangrove::data
