#include "mangrove/data/glyphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "mangrove/data/glyph_raster.h"
#include "mangrove/data/glyph_shapes.h"
#include "mangrove/data/sha256.h"

namespace mangrove::data {
namespace {

using Pixels = std::vector<float>;

Pixels glyph_image(const Dataset& dataset, std::uint32_t index) {
  Pixels pixels(GlyphCanvas::kPixels);
  EXPECT_TRUE(dataset.read(index, pixels).ok());
  return pixels;
}

double squared_distance(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

std::array<Pixels, 10> mean_images(const Dataset& dataset, std::uint32_t samples) {
  std::array<Pixels, 10> means;
  means.fill(Pixels(GlyphCanvas::kPixels));
  for (std::uint32_t i = 0; i < samples; ++i) {
    const Pixels pixels = glyph_image(dataset, i);
    Pixels& mean = means[static_cast<std::size_t>(dataset.label(i))];
    for (std::size_t k = 0; k < pixels.size(); ++k) mean[k] += pixels[k] * 10 / static_cast<float>(samples);
  }
  return means;
}

/// SHA-256 of labels and grey levels of the first 200 samples.
std::string glyph_fingerprint(const Dataset& dataset) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < 200; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(dataset.label(i)));
    for (const float pixel : glyph_image(dataset, i)) bytes.push_back(static_cast<std::uint8_t>(pixel * 255 + 0.5f));
  }
  return sha256(bytes);
}

// A change of these sums is a change of the data set: figures measured before and after cannot be compared.
TEST(Glyphs, AreTheSameOnEveryRunAndMachine) {
  EXPECT_EQ(glyph_fingerprint(*make_glyphs(Split::train)),
            "4170fb615e35a4d92144f9aec227897e7fd9f355e4bbee6873acddf1216802a6");
  EXPECT_EQ(glyph_fingerprint(*make_glyphs(Split::test)),
            "9d1a7ab7af96845bef608222489a77130b2b63501a6abd0f6ec374abdcfb989b");
  EXPECT_NE(glyph_fingerprint(*make_glyphs(Split::train, 2)), glyph_fingerprint(*make_glyphs(Split::train, 1)));
}

TEST(Glyphs, SampleDependsOnItsIndexAlone) {
  const auto one = make_glyphs(Split::train);
  const auto other = make_glyphs(Split::train);
  for (const std::uint32_t i : {59'999u, 0u, 17u, 17u, 3u}) {
    Pixels pixels(GlyphCanvas::kPixels, 0.5f);  // what was in the buffer does not matter
    ASSERT_TRUE(one->read(i, pixels).ok());
    EXPECT_EQ(pixels, glyph_image(*other, i));
  }
}

TEST(Glyphs, HaveAsManyOfEachDigitInNoOrder) {
  for (const auto& [split, size] : {std::pair{Split::train, 60'000u}, std::pair{Split::test, 10'000u}}) {
    const auto dataset = make_glyphs(split);
    ASSERT_EQ(dataset->size(), size);
    std::array<std::uint32_t, 10> counts{};
    std::uint32_t repeats = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      ++counts[static_cast<std::size_t>(dataset->label(i))];
      if (i > 0 && dataset->label(i) == dataset->label(i - 1)) ++repeats;
    }
    for (const std::uint32_t count : counts) EXPECT_EQ(count, size / 10);
    EXPECT_NEAR(repeats, size / 10, size / 50);
  }
}

TEST(Glyphs, PixelsAreGreyLevelsAndMostOfTheImageIsDark) {
  const auto dataset = make_glyphs(Split::train);
  EXPECT_EQ(dataset->sample_shape(), (Shape{1, 28, 28}));
  for (std::uint32_t i = 0; i < 2000; ++i) {
    double ink = 0;
    for (const float pixel : glyph_image(*dataset, i)) {
      ASSERT_GE(pixel, 0);
      ASSERT_LE(pixel, 1);
      ASSERT_EQ(pixel, std::round(pixel * 255) / 255);
      ink += pixel;
    }
    EXPECT_GT(ink, 10) << i;
    EXPECT_LT(ink, 350) << i;
  }
}

TEST(Glyphs, SamplesDifferWithinAndBetweenSplits) {
  std::set<Pixels> seen;
  for (const Split split : {Split::train, Split::test}) {
    const auto dataset = make_glyphs(split);
    for (std::uint32_t i = 0; i < 1500; ++i) EXPECT_TRUE(seen.insert(glyph_image(*dataset, i)).second) << i;
  }
}

// Independent of how they are drawn: labels say something about images, and mean images are not the whole of it.
TEST(Glyphs, NearestMeanImageTellsMostDigitsButNotAll) {
  const auto means = mean_images(*make_glyphs(Split::train), 5000);
  for (std::size_t a = 0; a < 10; ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_GT(squared_distance(means[a], means[b]), 2) << a << " and " << b;
  const auto test = make_glyphs(Split::test);
  std::uint32_t right = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const Pixels pixels = glyph_image(*test, i);
    const auto nearest =
        std::ranges::min_element(means, {}, [&](const Pixels& mean) { return squared_distance(mean, pixels); });
    right += nearest - means.begin() == test->label(i);
  }
  EXPECT_GT(right, 500u);
  EXPECT_LT(right, 950u);
}

TEST(GlyphStyles, AreSeveralOfEachDigitWithinTheirBox) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(glyph_styles(digit).size(), 3u);
    for (const GlyphStyle& style : glyph_styles(digit))
      for (const GlyphStroke& stroke : style.strokes) {
        EXPECT_GE(stroke.points.size(), 2u);
        EXPECT_LE(stroke.points.size(), kMaxGlyphPoints);
        for (const GlyphPoint point : stroke.points) {
          EXPECT_TRUE(point.x >= 0 && point.x <= 100 && point.y >= 0 && point.y <= 100) << digit;
        }
      }
  }
}

TEST(GlyphCanvas, InkFadesWithTheDistanceFromALine) {
  GlyphCanvas canvas({.width = 3, .edge = 2});
  canvas.line({5, 10}, {20, 10});
  std::array<float, GlyphCanvas::kPixels> ink{};
  canvas.ink(ink);
  for (int row = 0; row < 28; ++row)
    for (int column = 0; column < 28; ++column) {
      const double x = column + 0.5, y = row + 0.5;
      const double outside = std::max({5 - x, x - 20, 0.0});
      const double distance = std::hypot(outside, y - 10);
      const double expected = std::clamp((2.5 - distance) / 2, 0.0, 1.0);
      EXPECT_NEAR(ink[static_cast<std::size_t>(row * 28 + column)], expected, 1e-5) << row << " " << column;
    }
}

TEST(GlyphCanvas, LinesBeyondItsEdgesAreCutOff) {
  GlyphCanvas canvas({.width = 2, .edge = 1});
  canvas.line({-100, 14}, {100, 14});
  canvas.line({-50, -50}, {-40, 90});
  canvas.line({14, 1000}, {14, 1000});
  std::array<float, GlyphCanvas::kPixels> ink{};
  canvas.ink(ink);
  for (std::size_t i = 0; i < ink.size(); ++i) EXPECT_EQ(ink[i], i / 28 == 13 || i / 28 == 14 ? 1 : 0) << i;
}

TEST(GlyphCanvas, CurvesGoThroughTheirPoints) {
  for (const bool loop : {false, true}) {
    GlyphCanvas canvas({.width = 2, .edge = 1});
    const PixelPoint points[] = {{5.5, 5.5}, {20.5, 8.5}, {22.5, 20.5}, {8.5, 22.5}};
    canvas.curve(points, loop);
    std::array<float, GlyphCanvas::kPixels> ink{};
    canvas.ink(ink);
    for (const auto& [x, y] : points) EXPECT_EQ(ink[static_cast<std::size_t>(y) * 28 + static_cast<std::size_t>(x)], 1);
    // about half way from the last point to the first, where only a loop passes
    float between = 0;
    for (std::size_t x = 0; x < 9; ++x) between = std::max(between, ink[14 * 28 + x]);
    EXPECT_EQ(between > 0.5f, loop);
  }
}

}  // namespace
}  // namespace mangrove::data
