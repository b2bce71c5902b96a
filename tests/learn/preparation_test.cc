#include "mangrove/learn/preparation.h"

#include <gtest/gtest.h>

#include "tests/learn/networks.h"

#include "mangrove/learn/evaluate.h"

namespace mangrove::learn {
namespace {

Graph trained_with(const std::string& augmentation) {
  GraphParts parts = small_parts();
  if (!augmentation.empty()) parts.metadata[kAugmentationKey] = augmentation;
  return Graph::create(std::move(parts)).value();
}

/// Patterns, each value (x - 0.5) / 0.25.
class Normalized final : public data::Dataset {
 public:
  std::uint32_t size() const override { return patterns_.size(); }
  Shape sample_shape() const override { return patterns_.sample_shape(); }
  const std::vector<std::string>& class_names() const override { return patterns_.class_names(); }
  std::int32_t label(std::uint32_t index) const override { return patterns_.label(index); }
  Status read(std::uint32_t index, std::span<float> out) const override {
    MG_RETURN_IF_ERROR(patterns_.read(index, out));
    for (float& value : out) value = (value - 0.5f) * 4.0f;
    return {};
  }

 private:
  Patterns patterns_{27};
};

TEST(PreparationOf, IsWhatTheNetworkWasTrainedWith) {
  EXPECT_EQ(*preparation_of(trained_with(""), "glyphs", "/"), nullptr);
  const auto preparation = preparation_of(trained_with("pad-crop:2,normalise:0.5:0.25"), "glyphs", "/");
  ASSERT_TRUE(preparation.ok()) << preparation.error().message;
  std::vector<float> sample(784, 1.0f);
  Random random(0);
  (*preparation)->apply(sample, {&random, 1}, /*training=*/false);
  EXPECT_EQ(sample, std::vector<float>(784, 2.0f));
}

TEST(PreparationOf, SaysWhatIsWrong) {
  const auto unknown = preparation_of(trained_with("normalize"), "glyphs", "/");
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_EQ(unknown.error().message,
            "augmentation of the network: unknown transformation 'normalize'; did you mean 'normalise'?");
  EXPECT_EQ(preparation_of(trained_with("normalise"), "mnist", "/nowhere").code(), Code::not_found);
}

TEST(Evaluate, PreparesSamples) {
  const auto augmentation = *data::Augmentation::create("flip:1,normalise:0.5:0.25", Patterns(27));
  const auto replica = Replica::create(small_network(), {.batch = 8, .mode = Mode::inference}).value();
  const auto prepared = evaluate(*replica, std::make_shared<Patterns>(27), {}, augmentation);
  const auto expected = evaluate(*replica, std::make_shared<Normalized>());
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_EQ(prepared->loss, expected->loss);
  EXPECT_NE(prepared->loss, evaluate(*replica, std::make_shared<Patterns>(27))->loss);
}

}  // namespace
}  // namespace mangrove::learn
