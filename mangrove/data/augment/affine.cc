#include <algorithm>
#include <cmath>
#include <numbers>

#include "mangrove/data/augment/transform.h"

namespace mangrove::data {
namespace {

/// Where an output pixel comes from: input = m * output + shift, both from the middle of the image, x to the right and
/// y down.
struct Affine {
  double xx = 1, xy = 0, yx = 0, yy = 1;
  double shift_x = 0, shift_y = 0;  // pixels
};

/// Bilinear; what lies outside is as the nearest edge.
void warp(std::span<float> sample, const Planes& planes, const Affine& affine) {
  const std::vector<float> before(sample.begin(), sample.end());
  const double middle_x = 0.5 * static_cast<double>(planes.width - 1);
  const double middle_y = 0.5 * static_cast<double>(planes.height - 1);
  for (std::size_t y = 0; y < planes.height; ++y)
    for (std::size_t x = 0; x < planes.width; ++x) {
      const double from_x = static_cast<double>(x) - middle_x, from_y = static_cast<double>(y) - middle_y;
      const double to_x =
          std::clamp(affine.xx * from_x + affine.xy * from_y + affine.shift_x + middle_x, 0.0, 2 * middle_x);
      const double to_y =
          std::clamp(affine.yx * from_x + affine.yy * from_y + affine.shift_y + middle_y, 0.0, 2 * middle_y);
      const auto left = static_cast<std::size_t>(to_x), top = static_cast<std::size_t>(to_y);
      const std::size_t right = std::min(left + 1, planes.width - 1), bottom = std::min(top + 1, planes.height - 1);
      const auto part_x = static_cast<float>(to_x - static_cast<double>(left));
      const auto part_y = static_cast<float>(to_y - static_cast<double>(top));
      for (std::size_t c = 0; c < planes.channels; ++c) {
        const float* plane = before.data() + c * planes.plane();
        const auto row = [&](std::size_t at) {
          return plane[at * planes.width + left] * (1 - part_x) + plane[at * planes.width + right] * part_x;
        };
        sample[c * planes.plane() + y * planes.width + x] = row(top) * (1 - part_y) + row(bottom) * part_y;
      }
    }
}

class Rotation final : public SampleTransform {
 public:
  Rotation(Planes planes, double degrees) : planes_(planes), most_(degrees * std::numbers::pi / 180) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    const double angle = random.uniform(-most_, most_);
    warp(sample, planes_, {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)});
  }

  Planes planes_;
  double most_;  // radians
};

class Zoom final : public SampleTransform {
 public:
  Zoom(Planes planes, double share) : planes_(planes), share_(share) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    const double inverse = 1 / random.uniform(1 - share_, 1 + share_);
    warp(sample, planes_, {inverse, 0, 0, inverse});
  }

  Planes planes_;
  double share_;
};

class Translation final : public SampleTransform {
 public:
  Translation(Planes planes, double share) : planes_(planes), share_(share) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    const auto shift = [&](std::size_t side) { return random.uniform(-share_, share_) * static_cast<double>(side); };
    const double x = shift(planes_.width), y = shift(planes_.height);
    warp(sample, planes_, {.shift_x = x, .shift_y = y});
  }

  Planes planes_;
  double share_;
};

/// source: Szegedy et al., Going deeper with convolutions, CVPR 2015, section 6.
class ResizedCrop final : public SampleTransform {
 public:
  ResizedCrop(Planes planes, double area) : planes_(planes), least_area_(area) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    constexpr int kTries = 10;  // for a part that fits; then, the whole image
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const double area = random.uniform(least_area_, 1);
      const double ratio = std::exp(random.uniform(std::log(3.0 / 4), std::log(4.0 / 3)));
      const double part_x = std::sqrt(area * ratio), part_y = std::sqrt(area / ratio);  // of the sides
      if (part_x > 1 || part_y > 1) continue;
      const auto shift = [&](double part, std::size_t side) {
        return random.uniform(-0.5, 0.5) * (1 - part) * static_cast<double>(side);
      };
      const double x = shift(part_x, planes_.width), y = shift(part_y, planes_.height);
      warp(sample, planes_, {part_x, 0, 0, part_y, x, y});
      return;
    }
  }

  Planes planes_;
  double least_area_;
};

template <class Made>
MadeTransform make(const RecipeItem& item, const TransformContext& context, double low, double high) {
  MG_TRY(const double amount, item.required_number(0, low, high));
  return std::make_unique<const Made>(context.planes, amount);
}

}  // namespace

MadeTransform make_rotation(RecipeItem& item, const TransformContext& context) {
  return make<Rotation>(item, context, 0, 180);
}

MadeTransform make_zoom(RecipeItem& item, const TransformContext& context) {
  return make<Zoom>(item, context, 0, 0.9);
}

MadeTransform make_translation(RecipeItem& item, const TransformContext& context) {
  return make<Translation>(item, context, 0, 1);
}

MadeTransform make_resized_crop(RecipeItem& item, const TransformContext& context) {
  return make<ResizedCrop>(item, context, 0.01, 1);
}

}  // namespace mangrove::data
