#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/data/augment/augmentation.h"

namespace mangrove::data {

/// Changes samples in place. threads: immutable; any.
class Transform {
 public:
  virtual ~Transform() = default;
  /// As many samples, one behind the other, as generators; each has its own. What becomes of a sample must not depend
  /// on the others.
  virtual void apply(std::span<float> samples, std::span<Random> randoms) const = 0;
};

/// One that goes sample by sample.
class SampleTransform : public Transform {
 public:
  void apply(std::span<float> samples, std::span<Random> randoms) const final {
    const std::size_t size = samples.size() / randoms.size();
    for (std::size_t i = 0; i < randoms.size(); ++i) apply_one(samples.subspan(i * size, size), randoms[i]);
  }

 protected:
  virtual void apply_one(std::span<float> sample, Random& random) const = 0;
};

/// Sizes of an image [C, H, W]; a window of sensors [C, L] is one of H = 1.
struct Planes {
  std::size_t channels, height, width;
  explicit Planes(const Shape& shape)
      : channels(static_cast<std::size_t>(shape[0])),
        height(shape.rank() == 3 ? static_cast<std::size_t>(shape[1]) : 1),
        width(static_cast<std::size_t>(shape[shape.rank() - 1])) {}
  std::size_t plane() const { return height * width; }
};

/// One transformation of a recipe and what it is made from.
struct RecipeItem {
  std::string name;
  std::vector<std::string> arguments;  // "pad-crop:4": {"4"}

  /// Argument `at` as a number within [low, high], or `otherwise` where it is not given. errors: invalid_argument.
  Result<double> number(std::size_t at, double otherwise, double low, double high) const;
  Result<double> required_number(std::size_t at, double low, double high) const;
};
/// What it may look at. A transformation with statistics puts those that it computed into `item`.
struct TransformContext {
  Shape sample;
  Planes planes;
  const OpenTraining& open_training;  // asked by those that need statistics only
};
/// errors: those of context.open_training; invalid_argument (its samples have another shape).
Result<std::shared_ptr<const Dataset>> open_training_samples(const TransformContext& context);
using MadeTransform = Result<std::unique_ptr<const Transform>>;

// One function per row of the table in augmentation.cc.
MadeTransform make_pad_crop(RecipeItem& item, const TransformContext& context);
MadeTransform make_flip(RecipeItem& item, const TransformContext& context);
MadeTransform make_flip_vertical(RecipeItem& item, const TransformContext& context);
MadeTransform make_rotation(RecipeItem& item, const TransformContext& context);
MadeTransform make_zoom(RecipeItem& item, const TransformContext& context);
MadeTransform make_translation(RecipeItem& item, const TransformContext& context);
MadeTransform make_resized_crop(RecipeItem& item, const TransformContext& context);
MadeTransform make_colour_jitter(RecipeItem& item, const TransformContext& context);
MadeTransform make_drop_views(RecipeItem& item, const TransformContext& context);
MadeTransform make_cutout(RecipeItem& item, const TransformContext& context);
MadeTransform make_normalise(RecipeItem& item, const TransformContext& context);
MadeTransform make_zca(RecipeItem& item, const TransformContext& context);

}  // namespace mangrove::data
