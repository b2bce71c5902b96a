#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mangrove::data {

/// A point of a glyph in percent of its box: x to the right, y down.
struct GlyphPoint {
  std::int8_t x;
  std::int8_t y;
};

/// No stroke has more points.
constexpr std::size_t kMaxGlyphPoints = 16;

/// A line of the pen: from point to point straight, or as a smooth curve through all points (a Catmull-Rom spline),
/// which ends where it began if it is a loop.
struct GlyphStroke {
  enum class Kind : std::uint8_t { straight, curve, loop };
  Kind kind;
  std::span<const GlyphPoint> points;
};

/// One way to write a digit.
struct GlyphStyle {
  std::span<const GlyphStroke> strokes;
};

/// The ways to write `digit`, 0 to 9; at least three of each.
std::span<const GlyphStyle> glyph_styles(int digit);

}  // namespace mangrove::data
