#include "mangrove/privacy/leakage.h"

#include <gtest/gtest.h>

#include "tests/graph/small_networks.h"

#include "mangrove/base/random.h"
#include "mangrove/privacy/decoder.h"

namespace mangrove::privacy {
namespace {

LeakageData leakage_glyphs() {
  return {
      *data::open_dataset("glyphs", data::Split::train, {}), *data::open_dataset("glyphs", data::Split::test, {}), {}};
}

Result<Leakage> leakage(const std::string& privacy, const LeakageOptions& options) {
  const SteadyClock clock;
  return measure_leakage(small_graph(), *parse_privacy(privacy), leakage_glyphs(), options, clock, {});
}

TEST(Decoder, LearnsToInvertWhatHidesNothing) {
  // values are the image's pixels less a half, twice over; images are a bright square somewhere
  constexpr std::size_t kRows = 8, kHeight = 12, kWidth = 10, kPixels = kHeight * kWidth, kSide = 4;
  constexpr int kSteps = 200;
  auto decoder = Decoder::create(Shape{2, 12, 10}, Shape{1, 12, 10}, {.batch = kRows, .steps = kSteps});
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  Random random(5);
  std::vector<float> images, seen;
  double first = 0;
  for (int step = 0; step <= kSteps; ++step) {
    images.assign(kRows * kPixels, 0.1f);
    seen.clear();
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::size_t corner = random.below(kHeight - kSide) * kWidth + random.below(kWidth - kSide);
      for (std::size_t y = 0; y < kSide; ++y)
        for (std::size_t x = 0; x < kSide; ++x) images[row * kPixels + corner + y * kWidth + x] = 0.9f;
      for (int copy = 0; copy < 2; ++copy)
        for (std::size_t i = 0; i < kPixels; ++i) seen.push_back(images[row * kPixels + i] - 0.5f);
    }
    if (step == kSteps) break;  // these it has not seen
    const double error = (*decoder)->train(kRows, seen, images);
    if (step == 0) first = error;
  }
  const auto made = (*decoder)->reconstruct(3, std::span(seen).first(3 * 2 * kPixels));
  ASSERT_EQ(made.size(), 3 * kPixels);
  double error = 0;
  for (std::size_t i = 0; i < made.size(); ++i) error += (made[i] - images[i]) * (made[i] - images[i]);
  EXPECT_LT(error / static_cast<double>(made.size()), first / 10);
}

TEST(Decoder, TakesFeaturesAndRefusesOtherValues) {
  auto features = Decoder::create(Shape{16}, Shape{3, 9, 14}, {.batch = 4, .steps = 10});
  ASSERT_TRUE(features.ok()) << features.error().message;
  const std::vector<float> values(32, 0.5f);
  EXPECT_EQ((*features)->reconstruct(2, values).size(), 2u * 3 * 9 * 14);
  for (const std::int64_t side : {1, 5, 23, 24, 28, 32, 33})
    EXPECT_TRUE(Decoder::create(Shape{4, side, side}, Shape{1, 28, 28}, {.batch = 2}).ok()) << side;
  EXPECT_EQ(Decoder::create(Shape{4, 7}, Shape{1, 28, 28}, {}).code(), Code::unimplemented);
  EXPECT_EQ(Decoder::create(Shape{4, 7, 7}, Shape{6, 100}, {}).code(), Code::invalid_argument);
}

TEST(Leakage, OneConvolutionShowsMoreThanADeepCut) {
  const LeakageOptions options{.images = 64, .steps = 150, .batch = 16, .examples = 3};
  const auto guess = likeness_of_guess(leakage_glyphs(), options);
  ASSERT_TRUE(guess.ok()) << guess.error().message;
  const auto shallow = leakage("split@conv", options), deep = leakage("split@fc1", options);
  ASSERT_TRUE(shallow.ok()) << shallow.error().message;
  ASSERT_TRUE(deep.ok()) << deep.error().message;
  EXPECT_GT(shallow->likeness.ssim, deep->likeness.ssim + 0.1);
  EXPECT_GT(shallow->likeness.psnr, deep->likeness.psnr + 2);
  EXPECT_GT(shallow->likeness.ssim, guess->ssim + 0.2);
  EXPECT_EQ(shallow->accuracy, deep->accuracy) << "neither changes what the network computes";
  EXPECT_EQ(shallow->bytes, 4 * 24 * 24 * 4);
  EXPECT_EQ(deep->bytes, 16 * 4);
  EXPECT_EQ(shallow->multiply_adds, 24 * 24 * 25 * 4);
  EXPECT_EQ(deep->multiply_adds, 24 * 24 * 25 * 4 + 144 * 16);
  EXPECT_GT(shallow->seconds, 0);
  EXPECT_EQ(shallow->examples.size(), 3u);
  EXPECT_EQ(held_out_examples(leakage_glyphs(), options)->size(), 3u);
}

TEST(Leakage, NoiseHides) {
  const LeakageOptions options{.images = 64, .steps = 100, .batch = 16};
  const auto plain = leakage("split@conv", options), noisy = leakage("split@conv,noise=20", options);
  ASSERT_TRUE(plain.ok() && noisy.ok());
  EXPECT_GT(plain->likeness.ssim, noisy->likeness.ssim + 0.1);
  EXPECT_EQ(plain->bytes, noisy->bytes);
}

TEST(Leakage, IsTheSameEachTime) {
  const LeakageOptions options{.images = 20, .steps = 5, .batch = 8};
  const auto once = leakage("split@pool,noise=0.5,levels=4", options),
             again = leakage("split@pool,noise=0.5,levels=4", options);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->likeness.ssim, again->likeness.ssim);
  EXPECT_EQ(once->accuracy, again->accuracy);
  EXPECT_EQ(once->bytes, 8 + 144 / 4);
}

TEST(Leakage, TellsHowManyStepsAreDone) {
  std::vector<std::int64_t> told;
  const auto measured = measure_leakage(small_graph(), *parse_privacy("split@conv"), leakage_glyphs(),
                                        {.images = 8, .steps = 3, .batch = 8}, SteadyClock(), {}, {},
                                        [&](std::int64_t steps) { told.push_back(steps); });
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Leakage, RefusesWhatCannotBeSplit) {
  const SteadyClock clock;
  const auto skipping = measure_leakage(skipping_graph(), *parse_privacy("split@fc2"), leakage_glyphs(), {}, clock, {});
  ASSERT_FALSE(skipping.ok());
  EXPECT_NE(skipping.error().message.find("cannot be cut behind node 'fc2'"), std::string::npos);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(measure_leakage(small_graph(), *parse_privacy("split@conv"), leakage_glyphs(), {}, clock, stop.get_token())
                .code(),
            Code::cancelled);
}

TEST(SplitNodes, AreThoseWhereOneValueCrosses) {
  EXPECT_EQ(split_nodes(small_graph(), 3), (std::vector<std::string>{"conv", "relu", "pool"}));
  EXPECT_EQ(split_nodes(small_graph(), 100),
            (std::vector<std::string>{"conv", "relu", "pool", "flatten", "fc1", "tanh"}));
  EXPECT_EQ(split_nodes(skipping_graph(), 100), (std::vector<std::string>{"fc1", "add"}));
}

}  // namespace
}  // namespace mangrove::privacy
