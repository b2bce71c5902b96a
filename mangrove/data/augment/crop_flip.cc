#include <algorithm>

#include "mangrove/data/augment/transform.h"

namespace mangrove::data {
namespace {

/// source: He, Zhang, Ren & Sun, Deep residual learning for image recognition, CVPR 2016, section 4.2.
class PadCrop final : public SampleTransform {
 public:
  PadCrop(Planes planes, std::size_t pad) : planes_(planes), pad_(pad) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    // the cut begins at column `left` of the padded image, which is column left - pad of the image
    const auto shift = [&] {
      return static_cast<std::ptrdiff_t>(random.below(2 * pad_ + 1)) - static_cast<std::ptrdiff_t>(pad_);
    };
    const std::ptrdiff_t down = shift(), right = shift();
    const auto height = static_cast<std::ptrdiff_t>(planes_.height), width = static_cast<std::ptrdiff_t>(planes_.width);
    const std::vector<float> before(sample.begin(), sample.end());
    std::ranges::fill(sample, 0.0f);
    const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, -right), last = std::min(width, width - right);
    if (first >= last) return;
    for (std::ptrdiff_t plane = 0; plane < static_cast<std::ptrdiff_t>(planes_.channels); ++plane)
      for (std::ptrdiff_t y = std::max<std::ptrdiff_t>(0, -down); y < std::min(height, height - down); ++y) {
        const auto from = before.begin() + (plane * height + y + down) * width + right;
        std::copy(from + first, from + last, sample.begin() + (plane * height + y) * width + first);
      }
  }

  Planes planes_;
  std::size_t pad_;
};

class Flip final : public SampleTransform {
 public:
  Flip(Planes planes, double probability, bool vertical)
      : planes_(planes), probability_(probability), vertical_(vertical) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    if (random.uniform() >= probability_) return;
    const std::size_t width = planes_.width, height = planes_.height;
    if (vertical_) {
      for (std::size_t plane = 0; plane < planes_.channels; ++plane)
        for (std::size_t y = 0; y < height / 2; ++y)
          std::ranges::swap_ranges(sample.subspan((plane * height + y) * width, width),
                                   sample.subspan((plane * height + height - 1 - y) * width, width));
    } else {
      for (std::size_t row = 0; row < planes_.channels * height; ++row)
        std::ranges::reverse(sample.subspan(row * width, width));
    }
  }

  Planes planes_;
  double probability_;
  bool vertical_;
};

MadeTransform make_either_flip(const RecipeItem& item, const TransformContext& context, bool vertical) {
  MG_TRY(const double probability, item.number(0, 0.5, 0, 1));
  return std::make_unique<const Flip>(context.planes, probability, vertical);
}

}  // namespace

MadeTransform make_pad_crop(RecipeItem& item, const TransformContext& context) {
  MG_TRY(const double pad, item.required_number(0, 0, 1000));
  return std::make_unique<const PadCrop>(context.planes, static_cast<std::size_t>(pad));
}

MadeTransform make_flip(RecipeItem& item, const TransformContext& context) {
  return make_either_flip(item, context, false);
}

MadeTransform make_flip_vertical(RecipeItem& item, const TransformContext& context) {
  return make_either_flip(item, context, true);
}

}  // namespace mangrove::data
