#include "mangrove/privacy/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "mangrove/zoo/zoo.h"

namespace mangrove::privacy {
namespace {

std::vector<float> some_values(std::size_t count) {
  Random random(7);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(3 * random.normal() + 1);
  return values;
}

std::vector<float> received(const PrivacySetting& privacy, const std::vector<float>& values, std::uint64_t seed = 1) {
  std::string payload;
  append_sent(payload, privacy, values, Random(seed));
  EXPECT_EQ(std::ssize(payload), sent_bytes(privacy, std::ssize(values)));
  std::vector<float> read(values.size());
  const Status status = read_sent(payload, privacy, read);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return read;
}

TEST(PrivacySetting, IsReadAndWritten) {
  for (const char* text :
       {"split@conv1", "split@conv1,levels=16", "split@/layer1/Relu,levels=2,noise=0.25", "split@a,noise=3",
        "split@a,trained=my noise.safetensors", "split@a,levels=4,noise=1,trained=/n"}) {
    const auto privacy = parse_privacy(text);
    ASSERT_TRUE(privacy.ok()) << privacy.error().message;
    EXPECT_EQ(to_text(*privacy), text);
  }
  const auto any_order = parse_privacy("split@c,noise=0.5,levels=4");
  ASSERT_TRUE(any_order.ok());
  EXPECT_EQ(to_text(*any_order), "split@c,levels=4,noise=0.5");
}

TEST(PrivacySetting, RefusesWhatMakesNoSense) {
  for (const char* text :
       {"", "split@", "conv1", "levels=4,split@c", "split@c,levels=1", "split@c,levels=257", "split@c,levels=4x",
        "split@c,noise=0", "split@c,noise=-1", "split@c,noise=nan", "split@c,levels=4,levels=4",
        "split@c,trained=", "split@c,trained=a,trained=b", "split@c,more"}) {
    const auto privacy = parse_privacy(text);
    ASSERT_FALSE(privacy.ok()) << text;
    EXPECT_EQ(privacy.code(), Code::invalid_argument);
    EXPECT_NE(privacy.error().message.find("expected split@LAYER"), std::string::npos);
  }
}

TEST(PrivacySetting, OneTensorOfTrainedNoiseIsAdded) {
  const std::vector<float> values = {1, 2, 3}, trained = {10, 20, 30, -1, -2, -3};
  const PrivacySetting privacy = *parse_privacy("split@a,trained=n");
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string payload;
    append_sent(payload, privacy, values, Random(seed), trained);
    std::vector<float> read(values.size());
    ASSERT_TRUE(read_sent(payload, privacy, read).ok());
    seen.insert(read);
  }
  EXPECT_EQ(seen, (std::set<std::vector<float>>{{11, 22, 33}, {0, 0, 0}}));
}

TEST(PrivacySetting, AHeadThatOnlyMovesTheSampleIsRefused) {
  const Graph mlp = zoo::build_model("mlp-8", {}).value();
  const auto moved = split_for_privacy(mlp, "flatten");
  ASSERT_EQ(moved.code(), Code::invalid_argument);
  EXPECT_NE(moved.error().message.find("the samples themselves"), std::string::npos) << moved.error().message;
  EXPECT_TRUE(split_for_privacy(mlp, "fc1").ok());
  EXPECT_EQ(split_for_privacy(mlp, "fc7").code(), Code::not_found);
}

TEST(PrivacySetting, WithoutOptionsValuesArriveAsTheyAre) {
  const std::vector<float> values = some_values(101);
  EXPECT_EQ(received({.layer = "c"}, values), values);
  EXPECT_EQ(sent_bytes({.layer = "c"}, 101), 404);
}

TEST(PrivacySetting, LevelsAreEvenAndAsFewAsAsked) {
  const std::vector<float> values = some_values(101);
  const auto [least, largest] = std::ranges::minmax(values);
  for (const std::int64_t levels : {2, 3, 16, 100, 256}) {
    const PrivacySetting privacy{.layer = "c", .levels = levels};
    const std::vector<float> read = received(privacy, values);
    const float step = (largest - least) / static_cast<float>(levels - 1);
    std::vector<float> seen = read;
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_LE(std::ssize(seen), levels);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_LE(std::abs(read[i] - values[i]), step / 2 * 1.0001f);
  }
  EXPECT_EQ(sent_bytes({.layer = "c", .levels = 2}, 101), 8 + 13);
  EXPECT_EQ(sent_bytes({.layer = "c", .levels = 3}, 101), 8 + 26);
  EXPECT_EQ(sent_bytes({.layer = "c", .levels = 256}, 101), 8 + 101);
}

TEST(PrivacySetting, LevelsOfWhatHasNoRange) {
  const PrivacySetting privacy{.layer = "c", .levels = 4};
  EXPECT_EQ(received(privacy, {2, 2, 2}), (std::vector<float>{2, 2, 2}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(received(privacy, {0, NAN, 3, infinity, -infinity}), (std::vector<float>{0, 0, 3, 3, 0}));
  EXPECT_EQ(received(privacy, {NAN, NAN}), (std::vector<float>{0, 0}));
}

// Of a Laplace distribution of scale b the mean distance from 0 is b, and the variance 2 b^2.
TEST(PrivacySetting, NoiseIsLaplaceInStandardDeviationsOfTheSample) {
  const std::vector<float> values = some_values(40'000);  // of standard deviation 3
  const PrivacySetting privacy{.layer = "c", .noise = 0.5};
  const std::vector<float> read = received(privacy, values);
  double sum = 0, absolute = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double noise = read[i] - values[i];
    sum += noise;
    absolute += std::abs(noise);
    squares += noise * noise;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.05);
  EXPECT_NEAR(absolute / count, 1.5, 0.05);
  EXPECT_NEAR(squares / count, 4.5, 0.3);
  EXPECT_EQ(received(privacy, values), read) << "one seed, one noise";
  EXPECT_NE(received(privacy, values, 2), read);
}

TEST(PrivacySetting, RefusesAnotherNumberOfBytes) {
  for (const PrivacySetting& privacy : {PrivacySetting{.layer = "c"}, PrivacySetting{.layer = "c", .levels = 5}}) {
    std::string payload;
    append_sent(payload, privacy, some_values(10), Random(1));
    std::vector<float> more(20), read(10);
    EXPECT_EQ(read_sent(payload, privacy, more).code(), Code::data_loss);
    EXPECT_EQ(read_sent(payload + "x", privacy, read).code(), Code::data_loss);
    EXPECT_EQ(read_sent("", privacy, read).code(), Code::data_loss);
  }
}

}  // namespace
}  // namespace mangrove::privacy
