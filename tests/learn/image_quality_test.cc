#include "mangrove/learn/image_quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mangrove::learn {
namespace {

/// Waves over [channels, height, width], and what is like them and not the same.
struct Pair {
  Shape shape;
  std::vector<float> a, b;

  Pair(std::int64_t channels, std::int64_t height, std::int64_t width) : shape{channels, height, width} {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          const double wave = 0.7 * static_cast<double>(x) + 0.3 * static_cast<double>(y) + static_cast<double>(c);
          a.push_back(static_cast<float>(0.5 + 0.4 * std::sin(wave)));
          b.push_back(
              static_cast<float>(0.4 + 0.3 * std::sin(wave + 0.5) + 0.05 * static_cast<double>((x * y + c) % 3)));
        }
      }
    }
  }
};

// The values are those of a program in Python with central moments in exact sums.
TEST(ImageQuality, HasTheValuesOfAnIndependentComputation) {
  const Pair large(3, 20, 17);
  EXPECT_NEAR(ssim(large.a, large.b, large.shape), 0.8083944883671111, 1e-6);
  EXPECT_NEAR(psnr(large.a, large.b), 16.22536171326742, 1e-5);
  const Pair small(1, 5, 7);  // than the window
  EXPECT_NEAR(ssim(small.a, small.b, small.shape), 0.8449325189493664, 1e-6);
  EXPECT_NEAR(psnr(small.a, small.b), 15.297326909810135, 1e-5);
}

TEST(ImageQuality, OfImagesOfOneColourIsThatOfTheirMeans) {
  const Shape shape{1, 16, 16};
  const std::vector<float> a(256, 0.5f), b(256, 0.6f);
  EXPECT_NEAR(ssim(a, b, shape), (2 * 0.5 * 0.6 + 1e-4) / (0.25 + 0.36 + 1e-4), 1e-6);
  EXPECT_NEAR(psnr(a, b), 20, 1e-4) << "the mean squared error is 0.01";
}

TEST(ImageQuality, EqualImagesHaveTheMost) {
  const Pair pair(3, 12, 30);
  EXPECT_NEAR(ssim(pair.a, pair.a, pair.shape), 1, 1e-9);
  EXPECT_EQ(psnr(pair.a, pair.a), 100);
}

TEST(ImageQuality, ANegativeIsUnlikeAndOrderDoesNotMatter) {
  Pair pair(1, 24, 24);
  EXPECT_NEAR(ssim(pair.a, pair.b, pair.shape), ssim(pair.b, pair.a, pair.shape), 1e-12);
  for (std::size_t i = 0; i < pair.a.size(); ++i) pair.b[i] = 1 - pair.a[i];
  EXPECT_LT(ssim(pair.a, pair.b, pair.shape), -0.5);
}

}  // namespace
}  // namespace mangrove::learn
