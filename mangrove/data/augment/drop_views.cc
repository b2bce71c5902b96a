#include <algorithm>

#include "mangrove/data/augment/transform.h"
#include "mangrove/tensor/view_grid.h"

namespace mangrove::data {
namespace {

/// Some of the devices that see a part of the image each are gone: their parts are zeros. At least one is left.
/// source: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
/// ICDCS 2017, whose networks lose devices only when they are trained.
class DropViews final : public SampleTransform {
 public:
  DropViews(Planes planes, std::int64_t views, double probability)
      : planes_(planes),
        views_(view_grid(views, static_cast<std::int64_t>(planes.height), static_cast<std::int64_t>(planes.width))),
        probability_(probability) {}

 private:
  void apply_one(std::span<float> sample, Random& random) const override {
    const std::size_t kept = random.below(views_.size());
    for (std::size_t view = 0; view < views_.size(); ++view)
      if (random.uniform() < probability_ && view != kept) drop(sample, views_[view]);
  }

  void drop(std::span<float> sample, const ImagePart& part) const {
    const auto left = static_cast<std::size_t>(part.left), wide = static_cast<std::size_t>(part.right - part.left);
    for (std::size_t c = 0; c < planes_.channels; ++c)
      for (auto y = static_cast<std::size_t>(part.top); y < static_cast<std::size_t>(part.bottom); ++y)
        std::ranges::fill(sample.subspan(c * planes_.plane() + y * planes_.width + left, wide), 0.0f);
  }

  Planes planes_;
  std::vector<ImagePart> views_;
  double probability_;
};

}  // namespace

MadeTransform make_drop_views(RecipeItem& item, const TransformContext& context) {
  const auto most = static_cast<double>(std::min(context.planes.height, context.planes.width));
  MG_TRY(const double views, item.required_number(0, 1, most));
  if (views != static_cast<double>(static_cast<std::int64_t>(views)))
    return make_error(Code::invalid_argument, "'" + item.arguments[0] + "' is no whole number of views");
  MG_TRY(const double probability, item.number(1, 0.2, 0, 1));
  return std::make_unique<const DropViews>(context.planes, static_cast<std::int64_t>(views), probability);
}

}  // namespace mangrove::data
