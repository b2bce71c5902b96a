#include <algorithm>

#include "mangrove/data/augment/transform.h"

namespace mangrove::data {
namespace {

/// value -> towards + factor * (value - towards), within 0 to 1.
float blend(float value, float towards, float factor) {
  return std::clamp(towards + factor * (value - towards), 0.0f, 1.0f);
}

/// Brightness, then contrast (about the mean grey), then saturation (about each pixel's grey), each within 0 to 1
/// before the next. source: Howard, Some improvements on deep CNN based image classification, 2013.
class ColourJitter final : public SampleTransform {
 public:
  ColourJitter(Planes planes, double brightness, double contrast, double saturation)
      : planes_(planes), brightness_(brightness), contrast_(contrast), saturation_(saturation) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    const auto factor = [&](double range) { return static_cast<float>(random.uniform(1 - range, 1 + range)); };
    const float brightness = factor(brightness_), contrast = factor(contrast_), saturation = factor(saturation_);
    for (float& value : sample) value = blend(value, 0, brightness);
    if (contrast_ > 0) {
      double sum = 0;
      for (std::size_t i = 0; i < planes_.plane(); ++i) sum += grey(sample, i);
      const auto mean = static_cast<float>(sum / static_cast<double>(planes_.plane()));
      for (float& value : sample) value = blend(value, mean, contrast);
    }
    if (saturation_ == 0) return;
    for (std::size_t i = 0; i < planes_.plane(); ++i) {
      const float towards = grey(sample, i);
      for (std::size_t c = 0; c < 3; ++c) {
        float& value = sample[c * planes_.plane() + i];
        value = blend(value, towards, saturation);
      }
    }
  }

  /// ITU-R BT.601
  float grey(std::span<const float> sample, std::size_t pixel) const {
    if (planes_.channels != 3) return sample[pixel];
    const std::size_t plane = planes_.plane();
    return 0.299f * sample[pixel] + 0.587f * sample[plane + pixel] + 0.114f * sample[2 * plane + pixel];
  }

  Planes planes_;
  double brightness_, contrast_, saturation_;
};

}  // namespace

MadeTransform make_colour_jitter(RecipeItem& item, const TransformContext& context) {
  MG_TRY(const double brightness, item.required_number(0, 0, 1));
  MG_TRY(const double contrast, item.number(1, 0, 0, 1));
  MG_TRY(const double saturation, item.number(2, 0, 0, 1));
  if (context.planes.channels != 1 && context.planes.channels != 3)
    return make_error(Code::invalid_argument,
                      "for 1 or 3 channels, the samples have " + std::to_string(context.planes.channels));
  if (saturation > 0 && context.planes.channels != 3)
    return make_error(Code::invalid_argument, "saturation is for 3 channels, the samples have 1");
  return std::make_unique<const ColourJitter>(context.planes, brightness, contrast, saturation);
}

}  // namespace mangrove::data
