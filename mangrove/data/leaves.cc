#include "mangrove/data/leaves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/data/dataset_row.h"
#include "mangrove/data/leaf_marks.h"

namespace mangrove::data {
namespace {

constexpr std::uint32_t kTrainSize = 2'000;
constexpr std::uint32_t kTestSize = 500;
constexpr std::size_t kSide = 64;
constexpr float kNoise = 0.04f;  // most that a value is off, at random

/// A leaf's place in the image, and its outline.
class Outline {
 public:
  Outline(Random& random, const LeafMarks& marks) {
    float length = 0;
    do {  // a direction: a point of the disc, put on the circle
      cosine_ = draw_between(random, -1, 1);
      sine_ = draw_between(random, -1, 1);
      length = std::sqrt(cosine_ * cosine_ + sine_ * sine_);
    } while (length > 1 || length < 0.1f);
    cosine_ /= length;
    sine_ /= length;
    x_ = draw_between(random, -0.1f, 0.1f);
    y_ = draw_between(random, -0.1f, 0.1f);
    size_ = draw_between(random, 0.75f, 0.95f);
    width_ = draw_between(random, 0.5f, 0.65f) * marks.width();
    bend_ = draw_between(random, -0.15f, 0.15f) + marks.curl();
    teeth_ = draw_between(random, 0, 0.05f);
  }

  /// From the image, -1 to 1 in both directions, to the leaf: along it from base (-1) to tip (1), and across it.
  LeafPoint to_leaf(float x, float y) const {
    const float along = (cosine_ * (x - x_) + sine_ * (y - y_)) / size_;
    const float across = (cosine_ * (y - y_) - sine_ * (x - x_)) / size_;
    return {along, across - bend_ * along * along};
  }
  /// Half of it, there.
  float width(float along) const {
    if (along <= -1 || along >= 1) return 0;
    return (1 - along * along) * (1 - 0.25f * along) * (width_ + teeth_ * triangle_wave(along * 6));
  }

 private:
  float cosine_ = 1, sine_ = 0, x_, y_, size_, width_, bend_, teeth_;
};

/// Lighter along the middle and along the veins that leave it.
float vein(const LeafPoint& point) {
  const float side = point.across < 0 ? -point.across : point.across;
  if (side < 0.025f) return 0.16f;
  return triangle_wave((point.along - 0.8f * side) * 3.5f) > 0.9f ? 0.08f : 0.0f;
}

class Leaves final : public Dataset {
 public:
  Leaves(Split split, std::uint64_t seed) : random_(Random(seed).fork(split == Split::train ? 2 : 3)) {
    labels_.resize(split == Split::train ? kTrainSize : kTestSize);
    for (std::size_t i = 0; i < labels_.size(); ++i) labels_[i] = static_cast<std::uint8_t>(i % class_names_.size());
    Random(random_).shuffle(std::span(labels_));
  }

  std::uint32_t size() const override { return static_cast<std::uint32_t>(labels_.size()); }
  Shape sample_shape() const override { return {3, kSide, kSide}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const CoarseLabels* coarse() const override { return &coarse_; }
  std::int32_t label(std::uint32_t index) const override { return labels_[index]; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(index < size() && out.size() == 3 * kSide * kSide);
    Random random = random_.fork(index);
    const LeafMarks marks(static_cast<LeafDisease>(labels_[index]), random);
    const Outline outline(random, marks);
    const Patches shades(random), ground(random);
    const LeafColour green = {draw_between(random, 0.18f, 0.32f), draw_between(random, 0.42f, 0.6f),
                              draw_between(random, 0.12f, 0.24f)};
    const float soil = draw_between(random, 0.3f, 0.7f), light = draw_between(random, 0.8f, 1.15f);
    for (std::size_t row = 0; row < kSide; ++row)
      for (std::size_t column = 0; column < kSide; ++column) {
        const float x = to_image(column), y = to_image(row);
        const LeafPoint point = outline.to_leaf(x, y);
        const float width = outline.width(point.along);
        const float edge = width > 0 ? (point.across < 0 ? -point.across : point.across) / width : 2;
        LeafColour colour;
        if (edge < 1) {
          const float shade = 0.8f + 0.4f * shades.at(x, y) + vein(point);
          colour = marks.on(point, edge, {green[0] * shade, green[1] * shade, green[2] * shade}, random);
        } else {
          const float grey = soil * (0.8f + 0.4f * ground.at(x, y));
          colour = {grey, grey * 0.93f, grey * 0.85f};
        }
        for (std::size_t c = 0; c < 3; ++c)
          out[(c * kSide + row) * kSide + column] = exposed(colour[c] * light, random);
      }
    return {};
  }

 private:
  static float to_image(std::size_t pixel) { return (static_cast<float>(pixel) + 0.5f) / (kSide / 2.0f) - 1; }
  /// With noise, in 8 bits, as a camera gives.
  static float exposed(float value, Random& random) {
    const float noisy = std::clamp(value + draw_between(random, -kNoise, kNoise), 0.0f, 1.0f);
    return static_cast<float>(static_cast<std::int32_t>(noisy * 255 + 0.5f)) / 255;
  }

  const Random random_;
  std::vector<std::uint8_t> labels_;
  const std::vector<std::string> class_names_ = leaf_diseases();
  const CoarseLabels coarse_ = leaf_disease_causes();
};

}  // namespace

std::shared_ptr<const Dataset> make_leaves(Split split, std::uint64_t seed) {
  return std::make_shared<Leaves>(split, seed);
}

DatasetRow rows::leaves() {
  return {.info = {"leaves", "leaves",
                   "leaves with marks of diseases, drawn by the program itself: 2,000 + 500 colour images of 64x64, 10 "
                   "classes; no "
                   "files",
                   false},
          .open = &open_drawn<make_leaves>};
}

}  // namespace mangrove::data
