#include "mangrove/data/augment/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <optional>

#include "mangrove/data/statistics.h"

namespace mangrove::data {
namespace {

/// Samples from a formula: value(sample, place in the sample).
class Formula final : public Dataset {
 public:
  using Value = std::function<float(std::uint32_t, std::size_t)>;
  Formula(std::uint32_t size, Shape shape, Value value)
      : size_(size), shape_(std::move(shape)), value_(std::move(value)) {}
  std::uint32_t size() const override { return size_; }
  Shape sample_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  std::int32_t label(std::uint32_t) const override { return 0; }
  Status read(std::uint32_t index, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_(index, i);
    return {};
  }

 private:
  std::uint32_t size_;
  Shape shape_;
  Value value_;
  std::vector<std::string> names_ = {"only"};
};

/// One image, transformed `times` times with seeds 0, 1, ...
std::vector<std::vector<float>> transformed(const std::string& recipe, const Shape& shape, const Formula::Value& value,
                                            std::uint64_t times) {
  const Formula dataset(1, shape, value);
  const auto augmentation = Augmentation::create(recipe, dataset);
  EXPECT_TRUE(augmentation.ok()) << augmentation.error().message;
  std::vector<std::vector<float>> results;
  for (std::uint64_t seed = 0; seed < times; ++seed) {
    std::vector<float> sample(static_cast<std::size_t>(shape.elements()));
    EXPECT_TRUE(dataset.read(0, sample).ok());
    Random random(seed);
    (*augmentation)->apply(sample, {&random, 1}, true);
    results.push_back(std::move(sample));
  }
  return results;
}

// --- what each transformation does, and how often ---

TEST(PadCrop, GivesEveryPositionEquallyOftenWithZerosOutside) {
  // [2, 4, 5] whose values name their place; pad 2: 5 x 5 positions
  const auto results = transformed(
      "pad-crop:2", {2, 4, 5}, [](auto, std::size_t i) { return static_cast<float>(i + 1); }, 5000);
  std::map<std::pair<int, int>, int> times;
  for (const auto& image : results) {
    std::optional<std::pair<int, int>> moved;
    for (int down = -2; down <= 2; ++down)
      for (int right = -2; right <= 2; ++right) {
        bool same = true;
        for (int c = 0; c < 2; ++c)
          for (int y = 0; y < 4; ++y)
            for (int x = 0; x < 5; ++x) {
              const int from_y = y + down, from_x = x + right;
              const bool inside = from_y >= 0 && from_y < 4 && from_x >= 0 && from_x < 5;
              const int expected = inside ? c * 20 + from_y * 5 + from_x + 1 : 0;
              same = same && image[static_cast<std::size_t>(c * 20 + y * 5 + x)] == static_cast<float>(expected);
            }
        if (same) moved = {down, right};
      }
    ASSERT_TRUE(moved.has_value());
    ++times[*moved];
  }
  ASSERT_EQ(times.size(), 25u);
  for (const auto& [position, count] : times) EXPECT_NEAR(count, 200, 70);  // 5 standard deviations
}

TEST(Recipe, SaysWhetherItLooksAtOtherSamples) {
  for (const char* own : {"", "none", "flip", "pad-crop:2,flip,cutout:4", "normalise:0.5:0.2"})
    EXPECT_FALSE(depends_on_other_samples(own)) << own;
  for (const char* others :
       {"mixup:0.2", "flip,zca", "normalise", "normalise:0.5", "cifar", "imagenet-small", "leaves"})
    EXPECT_TRUE(depends_on_other_samples(others)) << others;
}

TEST(Flip, MirrorsHalfOfThem) {
  const auto value = [](auto, std::size_t i) { return static_cast<float>(i); };
  const std::vector<float> same = {0, 1, 2, 3, 4, 5}, mirrored = {2, 1, 0, 5, 4, 3}, upside_down = {3, 4, 5, 0, 1, 2};
  const auto across = transformed("flip", {1, 2, 3}, value, 1000);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(across, mirrored)), 500, 80);
  EXPECT_EQ(std::ranges::count(across, mirrored) + std::ranges::count(across, same), 1000);
  const auto down = transformed("flip-vertical:0.9", {1, 2, 3}, value, 1000);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(down, upside_down)), 900, 50);
  EXPECT_EQ(std::ranges::count(transformed("flip:1", {1, 2, 3}, value, 10), mirrored), 10);
}

/// The transformations that move pixels are recovered from images that are linear in x and in y, whose interpolation is
/// exact: the channels then hold where each pixel came from.
constexpr std::int64_t kSide = 33;
struct Origin {
  double x, y;  // from the middle
};
Origin origin(const std::vector<float>& image, int x, int y) {
  const auto at = static_cast<std::size_t>((y + kSide / 2) * kSide + x + kSide / 2);
  const auto middle = static_cast<double>(kSide / 2);
  return {static_cast<double>(image[at]) - middle, static_cast<double>(image[at + kSide * kSide]) - middle};
}
std::vector<std::vector<float>> moved_ramps(const std::string& recipe, std::uint64_t times) {
  return transformed(
      recipe, {2, kSide, kSide},
      [](auto, std::size_t i) {
        const std::size_t pixel = i % (kSide * kSide);
        return static_cast<float>(i < kSide * kSide ? pixel % kSide : pixel / kSide);
      },
      times);
}
struct Spread {
  double low = 1e9, high = -1e9, sum = 0;
  int count = 0;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    ++count;
  }
  double mean() const { return sum / count; }
};

TEST(Rotation, TurnsAboutTheMiddleByUniformAngles) {
  Spread angles;
  for (const auto& image : moved_ramps("rotation:30", 500)) {
    const Origin at = origin(image, 8, 0);
    const double angle = std::atan2(at.y, at.x);
    angles.add(angle * 180 / std::numbers::pi);
    for (const auto& [x, y] : {std::pair{0, 0}, {0, 8}, {-5, 3}, {7, -7}}) {
      EXPECT_NEAR(origin(image, x, y).x, x * std::cos(angle) - y * std::sin(angle), 1e-4);
      EXPECT_NEAR(origin(image, x, y).y, x * std::sin(angle) + y * std::cos(angle), 1e-4);
    }
  }
  EXPECT_GE(angles.low, -30);
  EXPECT_LT(angles.low, -29);
  EXPECT_LE(angles.high, 30);
  EXPECT_GT(angles.high, 29);
  EXPECT_NEAR(angles.mean(), 0, 4);  // 5 standard deviations
}

TEST(Zoom, EnlargesAboutTheMiddle) {
  Spread factors;
  for (const auto& image : moved_ramps("zoom:0.25", 500)) {
    const double factor = 8 / origin(image, 8, 0).x;
    factors.add(factor);
    EXPECT_NEAR(origin(image, -6, 4).x, -6 / factor, 1e-4);
    EXPECT_NEAR(origin(image, -6, 4).y, 4 / factor, 1e-4);
  }
  EXPECT_GE(factors.low, 0.7499);
  EXPECT_LE(factors.high, 1.2501);
  EXPECT_GT(factors.high - factors.low, 0.48);
  EXPECT_NEAR(factors.mean(), 1, 0.035);
}

TEST(Translation, MovesByAShareOfTheSidesAndContinuesEdges) {
  Spread across, down;
  for (const auto& image : moved_ramps("translation:0.2", 500)) {
    const Origin at = origin(image, 0, 0);
    across.add(at.x);
    down.add(at.y);
    EXPECT_NEAR(origin(image, 3, -4).x, at.x + 3, 1e-4);
    EXPECT_NEAR(origin(image, 3, -4).y, at.y - 4, 1e-4);
    if (at.x > 1) {
      EXPECT_EQ(origin(image, 16, 0).x, 16) << "beyond the edge, the edge";
    }
  }
  for (const Spread& spread : {across, down}) {
    EXPECT_GE(spread.low, -0.2 * kSide - 1e-4);
    EXPECT_LE(spread.high, 0.2 * kSide + 1e-4);
    EXPECT_GT(spread.high - spread.low, 0.38 * kSide);
    EXPECT_NEAR(spread.mean(), 0, 0.9);
  }
}

TEST(ResizedCrop, PartsHaveTheAreaAndProportionsAskedForAndLieInside) {
  Spread areas, ratios;
  for (const auto& image : moved_ramps("resized-crop:0.25", 500)) {
    const double part_x = (origin(image, 5, 0).x - origin(image, -5, 0).x) / 10;
    const double part_y = (origin(image, 0, 5).y - origin(image, 0, -5).y) / 10;
    areas.add(part_x * part_y);
    ratios.add(part_x / part_y);
    EXPECT_LE(std::abs(origin(image, 0, 0).x) + part_x * kSide / 2, kSide / 2.0 + 1e-3);
  }
  EXPECT_GE(areas.low, 0.249);
  EXPECT_LE(areas.high, 1.001);
  EXPECT_LT(areas.low, 0.3);
  EXPECT_GE(ratios.low, 0.749);
  EXPECT_LE(ratios.high, 1.334);
}

TEST(ColourJitter, ChangesBrightnessContrastAndSaturation) {
  // red, green and blue of two pixels
  const auto value = [](auto, std::size_t i) { return std::array{0.2f, 0.4f, 0.3f, 0.3f, 0.1f, 0.5f}[i]; };
  const double grey[] = {0.299 * 0.2 + 0.587 * 0.3 + 0.114 * 0.1, 0.299 * 0.4 + 0.587 * 0.3 + 0.114 * 0.5};
  Spread brightness, contrast, saturation;
  for (const auto& image : transformed("colour-jitter:0.3", {3, 1, 2}, value, 300)) {
    brightness.add(image[0] / 0.2);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(image[i], value(0u, i) * image[0] / 0.2, 1e-6);
  }
  for (const auto& image : transformed("colour-jitter:0:0.5", {3, 1, 2}, value, 300)) {
    const double mean = (grey[0] + grey[1]) / 2, factor = (image[0] - image[1]) / (0.2 - 0.4);
    contrast.add(factor);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(image[i], mean + factor * (value(0u, i) - mean), 1e-5);
  }
  for (const auto& image : transformed("colour-jitter:0:0:0.4", {3, 1, 2}, value, 300)) {
    const double factor = (image[1] - image[5]) / (0.4 - 0.5);
    saturation.add(factor);
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(image[i], grey[i % 2] + factor * (value(0u, i) - grey[i % 2]), 1e-5);
  }
  const std::pair<const Spread*, double> expected[] = {{&brightness, 0.3}, {&contrast, 0.5}, {&saturation, 0.4}};
  for (const auto& [spread, range] : expected) {
    EXPECT_GE(spread->low, 1 - range - 1e-4);
    EXPECT_LE(spread->high, 1 + range + 1e-4);
    EXPECT_GT(spread->high - spread->low, 1.9 * range);
  }
}

TEST(ColourJitter, StaysWithinZeroAndOne) {
  for (const auto& image : transformed(
           "colour-jitter:1:1:1", {3, 4, 4}, [](auto, std::size_t i) { return static_cast<float>(i % 5) / 4; }, 100))
    for (const float value : image) EXPECT_TRUE(value >= 0 && value <= 1);
}

TEST(Cutout, ClearsASquareCutOffAtTheEdges) {
  Spread cleared;
  for (const auto& image : transformed(
           "cutout:4", {2, 9, 9}, [](auto, auto) { return 1.0f; }, 1000)) {
    const auto zeros = std::ranges::count(image, 0.0f);
    cleared.add(static_cast<double>(zeros) / 2);
    EXPECT_TRUE(std::equal(image.begin(), image.begin() + 81, image.begin() + 81)) << "all channels alike";
  }
  EXPECT_EQ(cleared.high, 16);
  EXPECT_EQ(cleared.low, 4);
  // along one side, the middles 0 .. 8 clear 2, 3, 4, 4, 4, 4, 4, 4, 3: 32 / 9 on average
  EXPECT_NEAR(cleared.mean(), 32.0 / 9 * 32 / 9, 0.6);
}

TEST(DropViews, ClearsPartsOfTheGridButNeverAll) {
  int cleared = 0;
  const auto images = transformed(
      "drop-views:4:0.5", {2, 4, 6}, [](auto, auto) { return 1.0f; }, 1000);
  for (const auto& image : images) {
    EXPECT_TRUE(std::equal(image.begin(), image.begin() + 24, image.begin() + 24)) << "all channels alike";
    int here = 0;
    for (const std::size_t corner : {0u, 3u, 12u, 15u}) {  // of parts of 2 rows and 3 columns
      const auto zeros = [&] {
        std::ptrdiff_t count = 0;
        for (const std::size_t row : {0u, 6u}) {
          const auto begin = image.begin() + static_cast<std::ptrdiff_t>(corner + row);
          count += std::count(begin, begin + 3, 0.0f);
        }
        return count;
      }();
      EXPECT_TRUE(zeros == 0 || zeros == 6) << zeros;
      here += zeros == 6 ? 1 : 0;
    }
    EXPECT_LT(here, 4);
    cleared += here;
  }
  // half of the three that are not drawn to be kept
  EXPECT_NEAR(cleared / 1000.0, 1.5, 0.1);
}

TEST(DropViews, NeedsAWholeNumberOfViews) {
  const Formula dataset(4, {1, 8, 8}, [](auto, auto) { return 0.0f; });
  for (const char* recipe : {"drop-views", "drop-views:0", "drop-views:9", "drop-views:2.5", "drop-views:4:1.5"})
    EXPECT_EQ(Augmentation::create(recipe, dataset).code(), Code::invalid_argument) << recipe;
}

TEST(Normalise, TakesMeanAndDeviationOfEachChannelOfTheTrainingSamples) {
  const Formula dataset(50, {2, 2, 3}, [](std::uint32_t sample, std::size_t i) {
    return static_cast<float>((sample * 7 + i * 3) % 10) / 10 + (i < 6 ? 0.0f : 5.0f);
  });
  const auto augmentation = *Augmentation::create("normalise", dataset);
  double sums[2] = {}, squares[2] = {};
  for (std::uint32_t sample = 0; sample < 50; ++sample) {
    std::vector<float> values(12);
    ASSERT_TRUE(dataset.read(sample, values).ok());
    Random random(0);
    augmentation->apply(values, {&random, 1}, /*training=*/false);
    for (std::size_t i = 0; i < 12; ++i) {
      sums[i / 6] += values[i];
      squares[i / 6] += values[i] * values[i];
    }
  }
  for (const int channel : {0, 1}) {
    EXPECT_NEAR(sums[channel], 0, 1e-2);
    EXPECT_NEAR(squares[channel] / 300, 1, 1e-4);
  }
  const auto again = Augmentation::create(augmentation->text(), Formula(1, {2, 2, 3}, [](auto, auto) { return 0.0f; }));
  EXPECT_EQ((*again)->text(), augmentation->text()) << "with the numbers in it, it needs no data";
}

TEST(Normalise, ChannelThatNeverChangesBecomesZero) {
  const auto results = transformed(
      "normalise", {1, 2, 2}, [](auto, auto) { return 0.25f; }, 1);
  EXPECT_EQ(results[0], std::vector<float>(4, 0.0f));
}

/// x = numpy.array([[((i * 7 + k * k * 5 + i * k * 3) % 11) / 10 for k in range(4)] for i in range(8)])
/// m = x.mean(0); c = (x - m).T @ (x - m) / 8; w, u = numpy.linalg.eigh(c)
/// z = (x - m) @ (u @ numpy.diag(1 / numpy.sqrt(w + 0.01)) @ u.T); print(z[3], z[0])
TEST(Zca, GivesWhatNumpyDoes) {
  const Formula dataset(8, {1, 2, 2}, [](std::uint32_t i, std::size_t k) {
    return static_cast<float>((i * 7 + k * k * 5 + i * k * 3) % 11) / 10.0f;
  });
  const auto augmentation = *Augmentation::create("zca:0.01", dataset);
  const std::pair<std::uint32_t, std::array<float, 4>> expected[] = {
      {3, {1.82347868f, -0.8325598f, 0.026127f, -0.56912554f}},
      {0, {-1.25041368f, 0.3220129f, 1.07253423f, -0.88970361f}}};
  for (const auto& [index, values] : expected) {
    std::vector<float> sample(4);
    ASSERT_TRUE(dataset.read(index, sample).ok());
    Random random(0);
    augmentation->apply(sample, {&random, 1}, false);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(sample[i], values[i], 1e-5) << index << " " << i;
  }
}

TEST(Zca, SampleDoesNotDependOnTheOthersOfItsBlock) {
  const Formula dataset(60, {3, 4, 4}, [](std::uint32_t i, std::size_t k) {
    return static_cast<float>((i * 37 + k * k * 5 + i * k * 3) % 101) / 100.0f;
  });
  const auto augmentation = *Augmentation::create("zca", dataset);
  std::vector<float> all(60 * 48);
  std::vector<Random> randoms(60, Random(0));
  for (std::uint32_t i = 0; i < 60; ++i) ASSERT_TRUE(dataset.read(i, std::span(all).subspan(i * 48, 48)).ok());
  std::vector<float> one(all.begin() + 37 * 48, all.begin() + 38 * 48);
  augmentation->apply(all, randoms, true);
  augmentation->apply(one, {randoms.data(), 1}, true);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + 37 * 48)) << "bit for bit";
}

// --- recipes ---

TEST(Augmentation, MixWeightsAreBetaDistributed) {
  for (const double alpha : {0.2, 1.0, 2.0}) {
    const Formula dataset(1, {1, 2, 2}, [](auto, auto) { return 0.0f; });
    const auto augmentation = *Augmentation::create("mixup:" + std::to_string(alpha), dataset);
    EXPECT_TRUE(augmentation->mixes());
    Random random(5);
    double sum = 0, squares = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      const double weight = augmentation->mix_weight(random);
      sum += weight;
      squares += (weight - 0.5) * (weight - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.02) << alpha;
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;  // variance of Beta(alpha, alpha)
  }
}

TEST(Augmentation, NamedRecipesStandForTheirText) {
  const Formula dataset(4, {3, 4, 4}, [](auto, std::size_t i) { return static_cast<float>(i % 7) / 7; });
  for (const NamedRecipe& recipe : named_recipes()) {
    const auto by_name = Augmentation::create(recipe.name, dataset),
               by_text = Augmentation::create(recipe.text, dataset);
    ASSERT_TRUE(by_name.ok()) << by_name.error().message;
    EXPECT_EQ((*by_name)->text(), (*by_text)->text());
  }
  EXPECT_EQ((*Augmentation::create("none", dataset))->text(), "");
  EXPECT_EQ((*Augmentation::create("flip,cutout:2", dataset))->text(), "flip,cutout:2");
}

TEST(Augmentation, OnlyWhatIsNotRandomIsDoneOutsideOfTraining) {
  const Formula dataset(4, {3, 4, 4}, [](auto, std::size_t i) { return static_cast<float>(i % 7); });
  const auto augmentation = *Augmentation::create("pad-crop:4,flip:1,normalise:0/0/0:2/2/2,cutout:4", dataset);
  std::vector<float> sample(48, 1.0f);
  Random random(0);
  augmentation->apply(sample, {&random, 1}, false);
  EXPECT_EQ(sample, std::vector<float>(48, 0.5f));
}

TEST(Augmentation, SensorWindowsCanBeNormalisedAndMixed) {
  const Formula dataset(4, {2, 8}, [](auto, std::size_t i) { return static_cast<float>(i); });
  EXPECT_TRUE(Augmentation::create("normalise,mixup:0.2", dataset).ok());
  EXPECT_EQ(Augmentation::create("flip", dataset).error().message,
            "flip: for images [C, H, W] only, the samples are [2, 8]");
}

TEST(Augmentation, SaysWhatIsWrongWithARecipe) {
  const Formula dataset(4, {2, 64, 64}, [](auto, auto) { return 0.5f; });
  struct Case {
    const char* recipe;
    Code code;
    const char* message;
  };
  const Case cases[] = {
      {"flipp", Code::not_found, "unknown transformation 'flipp'; did you mean 'flip'?"},
      {"flip,,normalise", Code::not_found, "unknown transformation ''"},
      {"pad-crop", Code::invalid_argument, "pad-crop: needs a number behind its name"},
      {"pad-crop:x", Code::invalid_argument, "pad-crop: 'x' is not a number from 0 to 1,000"},
      {"pad-crop:-1", Code::invalid_argument, "is not a number from 0 to 1,000"},
      {"flip:nan", Code::invalid_argument, "is not a number from 0 to 1"},
      {"flip:0.5:1", Code::invalid_argument, "flip: 2 arguments: expected flip[:0.5]"},
      {"mixup:0", Code::invalid_argument, "mixup: '0' is not a number from 0.01 to 2"},
      {"mixup", Code::invalid_argument, "mixup: needs a number"},
      {"normalise,colour-jitter:0.1", Code::invalid_argument, "colour-jitter: must come before normalise"},
      {"colour-jitter:0.1", Code::invalid_argument, "for 1 or 3 channels, the samples have 2"},
      {"normalise:0/0", Code::invalid_argument, "means and deviations expected"},
      {"normalise:0/0/0:1/1", Code::invalid_argument, "'0/0/0' is not 2 numbers"},
      {"normalise:0/0:1/0", Code::invalid_argument, "'1/0' is not 2 numbers"},
      {"normalise:0/x:1/1", Code::invalid_argument, "'0/x' is not 2 numbers"},
      {"zca", Code::invalid_argument, "zca: samples of 8,192 values: at most 4,096"},
  };
  for (const Case& test : cases) {
    const auto augmentation = Augmentation::create(test.recipe, dataset);
    ASSERT_FALSE(augmentation.ok()) << test.recipe;
    EXPECT_EQ(augmentation.code(), test.code) << test.recipe;
    EXPECT_NE(augmentation.error().message.find(test.message), std::string::npos) << augmentation.error().message;
  }
}

TEST(ChannelStatistics, OfEvenlySpreadSamples) {
  // 30,000 samples that are 0 in their first half and 1 in the other
  const Formula dataset(30'000, {1, 1, 1}, [](std::uint32_t sample, auto) { return sample < 15'000 ? 0.0f : 1.0f; });
  const auto statistics = *channel_statistics(dataset);
  EXPECT_DOUBLE_EQ(statistics.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(statistics.deviation[0], 0.5);
}

}  // namespace
}  // namespace mangrove::data
