#include <algorithm>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/data/image.h"

namespace mangrove::data {
namespace {

constexpr int kFractionBits = 22;  // 8 bits of pixel and 22 of weight fit in 32 with a bit to spare

/// Which input pixels one output pixel is made of, and how much of each.
struct Taps {
  int first;
  std::vector<std::int32_t> weights;  // of first, first + 1, ..; sum 1 << kFractionBits
};

/// source: Pillow, src/libImaging/Resample.c, precompute_coeffs with the bilinear filter.
std::vector<Taps> make_taps(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double reach = std::max(scale, 1.0);  // half the width of the triangle
  std::vector<Taps> all;
  std::vector<double> weights;
  for (int x = 0; x < out; ++x) {
    const double centre = (x + 0.5) * scale;
    const int first = std::max(static_cast<int>(centre - reach + 0.5), 0);
    const int last = std::min(static_cast<int>(centre + reach + 0.5), in);
    weights.clear();
    double sum = 0;
    for (int i = first; i < last; ++i) {
      weights.push_back(std::max(0.0, 1.0 - std::abs((i - centre + 0.5) * (1.0 / reach))));
      sum += weights.back();
    }
    Taps taps{first, {}};
    for (const double weight : weights)
      taps.weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << kFractionBits)));
    all.push_back(std::move(taps));
  }
  return all;
}

/// Sum of the weighted input values, `step` apart, from `in` on.
std::uint8_t weigh(const std::uint8_t* in, std::size_t step, const std::vector<std::int32_t>& weights) {
  std::int32_t sum = 1 << (kFractionBits - 1);
  for (const std::int32_t weight : weights) {
    sum += *in * weight;
    in += step;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

Image resize_width(const Image& image, int width) {
  Image out{width, image.height, image.channels, {}};
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::vector<Taps> taps = make_taps(image.width, width);
  out.pixels.reserve(static_cast<std::size_t>(image.height) * taps.size() * channels);
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y) {
    const std::uint8_t* row = image.pixels.data() + y * static_cast<std::size_t>(image.width) * channels;
    for (const Taps& tap : taps)
      for (std::size_t c = 0; c < channels; ++c)
        out.pixels.push_back(weigh(row + static_cast<std::size_t>(tap.first) * channels + c, channels, tap.weights));
  }
  return out;
}

Image resize_height(const Image& image, int height) {
  Image out{image.width, height, image.channels, {}};
  const std::size_t row = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  const std::vector<Taps> taps = make_taps(image.height, height);
  out.pixels.reserve(taps.size() * row);
  for (const Taps& tap : taps)
    for (std::size_t x = 0; x < row; ++x)
      out.pixels.push_back(
          weigh(image.pixels.data() + static_cast<std::size_t>(tap.first) * row + x, row, tap.weights));
  return out;
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  MG_CHECK(width >= 1 && height >= 1 && width <= kMaxImageSide && height <= kMaxImageSide);
  const Image wide = image.width == width ? image : resize_width(image, width);
  return wide.height == height ? wide : resize_height(wide, height);
}

}  // namespace mangrove::data
