#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"

namespace mangrove::data {

class Transform;

/// Opens the training samples that statistics are taken from.
using OpenTraining = std::function<Result<std::shared_ptr<const Dataset>>()>;

/// A transformation that recipes can name.
struct TransformInfo {
  std::string_view usage;    // "pad-crop:PIXELS"
  std::string_view summary;  // one line for a person
};
std::vector<TransformInfo> known_transforms();

/// A recipe with a name: "cifar".
struct NamedRecipe {
  std::string_view name;
  std::string_view text;
  std::string_view summary;
};
std::span<const NamedRecipe> named_recipes();

/// Whether what the recipe makes of a sample depends on other samples too: it mixes them, or takes statistics from them
/// that it does not name. For a recipe that create() refuses it may say either.
bool depends_on_other_samples(std::string_view recipe);

/// How samples are transformed before the network sees them: a recipe, made ready for a data set.
/// threads: immutable; any.
class Augmentation {
 public:
  /// recipe  transformations in the order in which they are applied, "pad-crop:4,flip,normalise"; a name of a recipe
  ///         stands for its text. "" or "none" is none.
  /// train   training samples, from which statistics are taken where the recipe does not give them: at most 10,000
  ///         samples, evenly spread. The same samples give the same statistics on every node.
  /// errors: not_found (unknown transformation, with the nearest known one); invalid_argument (arguments; a
  /// transformation that does not fit the samples or its place); those of Dataset::read.
  static Result<std::shared_ptr<const Augmentation>> create(std::string_view recipe, const Dataset& train);
  /// The same for samples of this shape; the training samples are opened only if the recipe needs statistics.
  /// errors: those of open_training too.
  static Result<std::shared_ptr<const Augmentation>> create(std::string_view recipe, const Shape& sample,
                                                            const OpenTraining& open_training);
  ~Augmentation();

  /// The recipe with the statistics in it: what create() makes of it needs none from the data (but for zca, which has
  /// too many).
  std::string text() const;
  bool mixes() const { return mixup_alpha_ > 0; }

  /// Transforms samples in place, one behind the other, as many as `randoms`. With `training` false, only by what is
  /// not random: normalise, zca.
  void apply(std::span<float> samples, std::span<Random> randoms, bool training) const;
  /// mixup: the share of the sample itself, the rest is its partner's.
  float mix_weight(Random& random) const;

 private:
  Augmentation() = default;

  struct Part {
    std::unique_ptr<const Transform> transform;
    bool random;
  };
  std::vector<Part> parts_;
  double mixup_alpha_ = 0;
  std::string text_;
};

}  // namespace mangrove::data
