#include <algorithm>

#include "mangrove/data/augment/transform.h"

namespace mangrove::data {
namespace {

/// The middle of the square is anywhere in the image, so that part of it may lie outside.
/// source: DeVries & Taylor, Improved regularization of convolutional neural networks with cutout, 2017.
class Cutout final : public SampleTransform {
 public:
  Cutout(Planes planes, std::size_t side) : planes_(planes), side_(side) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    const auto range = [&](std::size_t whole) {
      const std::size_t middle = random.below(whole), half = side_ / 2;
      return std::pair(middle - std::min(middle, half), std::min(middle + side_ - half, whole));
    };
    const auto [top, bottom] = range(planes_.height);
    const auto [left, right] = range(planes_.width);
    for (std::size_t c = 0; c < planes_.channels; ++c)
      for (std::size_t y = top; y < bottom; ++y)
        std::ranges::fill(sample.subspan(c * planes_.plane() + y * planes_.width + left, right - left), 0.0f);
  }

  Planes planes_;
  std::size_t side_;
};

}  // namespace

MadeTransform make_cutout(RecipeItem& item, const TransformContext& context) {
  MG_TRY(const double side, item.required_number(0, 1, 4096));
  return std::make_unique<const Cutout>(context.planes, static_cast<std::size_t>(side));
}

}  // namespace mangrove::data
