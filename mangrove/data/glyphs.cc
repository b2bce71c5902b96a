#include "mangrove/data/glyphs.h"

#include <algorithm>
#include <array>

#include "mangrove/base/random.h"
#include "mangrove/data/dataset_row.h"
#include "mangrove/data/glyph_raster.h"
#include "mangrove/data/glyph_shapes.h"

namespace mangrove::data {
namespace {

constexpr std::uint32_t kTrainSize = 60'000;
constexpr std::uint32_t kTestSize = 10'000;
constexpr int kClasses = 10;

// How much samples differ from each other. Chosen so that LeNet is right on 98.5 to 99.5 % of the test set after one
// epoch.
constexpr float kHeight = 19;  // pixels of an undistorted glyph
constexpr float kWidth = 13;
constexpr float kPointShift = 0.045f;  // of each point, in parts of the box
constexpr float kBend = 0.28f;         // coefficients of a quadratic displacement
constexpr float kTurn = 0.17f;         // tangent of half the angle: +-19 degrees
constexpr float kShear = 0.25f;
constexpr float kScaleLow = 0.75f;  // of width and of height
constexpr float kScaleHigh = 1.15f;
constexpr float kShift = 2.5f;   // pixels
constexpr float kNoise = 0.10f;  // standard deviation of grey levels, at most

float between(Random& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random.uniform());
}
float up_to(Random& random, float bound) {
  return between(random, -bound, bound);
}

/// From the box of a glyph to pixels: a quadratic bend, then turn, shear and scale, then shift.
class Distortion {
 public:
  explicit Distortion(Random& random) {
    for (float& coefficient : bend_) coefficient = up_to(random, kBend);
    // sine and cosine by the tangent of half the angle: nothing but arithmetic, so equal on all machines
    const float tangent = up_to(random, kTurn);
    const float cosine = (1 - tangent * tangent) / (1 + tangent * tangent);
    const float sine = 2 * tangent / (1 + tangent * tangent);
    const float shear = up_to(random, kShear);
    const float width = kWidth * between(random, kScaleLow, kScaleHigh);
    const float height = kHeight * between(random, kScaleLow, kScaleHigh);
    xx_ = cosine * width;
    xy_ = (cosine * shear - sine) * height;
    yx_ = sine * width;
    yy_ = (sine * shear + cosine) * height;
    centre_ = {GlyphCanvas::kSide / 2.0f + up_to(random, kShift), GlyphCanvas::kSide / 2.0f + up_to(random, kShift)};
  }

  PixelPoint operator()(GlyphPoint point, Random& random) const {
    const float x = static_cast<float>(point.x) / 100 - 0.5f + up_to(random, kPointShift);
    const float y = static_cast<float>(point.y) / 100 - 0.5f + up_to(random, kPointShift);
    const float bent_x = x + bend_[0] * x * x + bend_[1] * x * y + bend_[2] * y * y;
    const float bent_y = y + bend_[3] * x * x + bend_[4] * x * y + bend_[5] * y * y;
    return {centre_.x + xx_ * bent_x + xy_ * bent_y, centre_.y + yx_ * bent_x + yy_ * bent_y};
  }

 private:
  std::array<float, 6> bend_;
  float xx_, xy_, yx_, yy_;  // the matrix
  PixelPoint centre_;
};

void draw(const GlyphStyle& style, Random& random, GlyphCanvas& canvas) {
  const Distortion distort(random);
  std::array<PixelPoint, kMaxGlyphPoints> buffer;
  for (const GlyphStroke& stroke : style.strokes) {
    const std::span<PixelPoint> points(buffer.data(), stroke.points.size());
    std::ranges::transform(stroke.points, points.begin(), [&](GlyphPoint point) { return distort(point, random); });
    if (stroke.kind != GlyphStroke::Kind::straight) {
      canvas.curve(points, stroke.kind == GlyphStroke::Kind::loop);
      continue;
    }
    for (std::size_t i = 1; i < points.size(); ++i) canvas.line(points[i - 1], points[i]);
  }
}

/// About normal with mean 0 and standard deviation 1: the sum of four uniform numbers, from the bits of one.
float rough_normal(Random& random) {
  const std::uint64_t bits = random.next();
  const auto sum =
      static_cast<std::int32_t>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  constexpr float kDeviation = 37837.2f;  // 65536 / sqrt(12) * sqrt(4)
  return static_cast<float>(sum - 2 * 65535) / kDeviation;
}

/// Noise on every pixel; then grey levels of 8 bits, as a camera gives.
void expose(float brightness, float noise, Random& random, std::span<float> pixels) {
  for (float& pixel : pixels) {
    const float grey = std::clamp(pixel * brightness + noise * rough_normal(random), 0.0f, 1.0f);
    pixel = static_cast<float>(static_cast<std::int32_t>(grey * 255 + 0.5f)) / 255;
  }
}

class Glyphs final : public Dataset {
 public:
  Glyphs(Split split, std::uint64_t seed) : random_(Random(seed).fork(split == Split::train ? 0 : 1)) {
    labels_.resize(split == Split::train ? kTrainSize : kTestSize);
    for (std::size_t i = 0; i < labels_.size(); ++i) labels_[i] = static_cast<std::uint8_t>(i % kClasses);
    Random(random_).shuffle(std::span(labels_));
  }

  std::uint32_t size() const override { return static_cast<std::uint32_t>(labels_.size()); }
  Shape sample_shape() const override { return {1, GlyphCanvas::kSide, GlyphCanvas::kSide}; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const CoarseLabels* coarse() const override { return &coarse_; }
  std::int32_t label(std::uint32_t index) const override { return labels_[index]; }

  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_CHECK(index < size() && out.size() == GlyphCanvas::kPixels);
    Random random = random_.fork(index);
    const auto styles = glyph_styles(labels_[index]);
    const GlyphStyle& style = styles[random.below(styles.size())];
    GlyphCanvas canvas({.width = between(random, 1.2f, 3.2f), .edge = between(random, 1.0f, 2.2f)});
    draw(style, random, canvas);
    canvas.ink(out.first<GlyphCanvas::kPixels>());
    const float brightness = between(random, 0.6f, 1.0f);
    expose(brightness, between(random, 0, kNoise), random, out);
    return {};
  }

 private:
  const Random random_;
  std::vector<std::uint8_t> labels_;
  const std::vector<std::string> class_names_ = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  const CoarseLabels coarse_ = {{"straight", "curved", "looped"}, {2, 0, 1, 1, 0, 1, 2, 0, 2, 2}};
};

}  // namespace

std::shared_ptr<const Dataset> make_glyphs(Split split, std::uint64_t seed) {
  return std::make_shared<Glyphs>(split, seed);
}

DatasetRow rows::glyphs() {
  return {
      .info = {"glyphs", "glyphs",
               "digits drawn by the program itself: 60,000 + 10,000 grey images of 28x28, 10 classes; no files", false},
      .open = &open_drawn<make_glyphs>};
}

}  // namespace mangrove::data
