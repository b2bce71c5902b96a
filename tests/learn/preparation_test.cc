#include "mangrove/learn/preparation.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/learn/networks.h"

#include "mangrove/learn/evaluate.h"

namespace mangrove::learn {
namespace {

using mangrove::testing::TemporaryFolder;

Graph trained_with(const std::string& augmentation, const std::string& data = "") {
  GraphParts parts = small_parts();
  if (!augmentation.empty()) parts.metadata[kAugmentationKey] = augmentation;
  if (!data.empty()) parts.metadata[kDataKey] = data;
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

/// Noise of 6x6 pixels in two classes, as a folder of images.
std::string noise_folder(const fs::path& folder, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 12; ++i) {
    std::string image = "P5\n6 6\n255\n";
    for (int pixel = 0; pixel < 36; ++pixel) image += static_cast<char>(random.below(256));
    const fs::path file = folder / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".pgm");
    fs::create_directories(file.parent_path());
    EXPECT_TRUE(write_file_atomically(file, image).ok());
  }
  return "folder:" + folder.string();
}

std::vector<float> prepared(const data::Augmentation& augmentation) {
  std::vector<float> sample(36);
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<float>(i) / 36;
  Random random(0);
  augmentation.apply(sample, {&random, 1}, /*training=*/false);
  return sample;
}

TEST(PreparationOf, IsWhatTheNetworkWasTrainedWith) {
  EXPECT_EQ(*preparation_of(trained_with(""), "/"), nullptr);
  const auto preparation = preparation_of(trained_with("pad-crop:2,normalise:0.5:0.25"), "/");
  ASSERT_TRUE(preparation.ok()) << preparation.error().message;
  std::vector<float> sample(36, 1.0f);
  Random random(0);
  (*preparation)->apply(sample, {&random, 1}, /*training=*/false);
  EXPECT_EQ(sample, std::vector<float>(36, 2.0f));
}

TEST(PreparationOf, WhitensByTheSamplesOfTheTraining) {
  const TemporaryFolder folder;
  const std::string spec = noise_folder(folder / "images", 1) + ",validation=0.5";
  const auto train = *data::open_dataset(spec, data::Split::train, "/");
  const auto preparation = preparation_of(trained_with("zca:0.1", spec), "/");
  ASSERT_TRUE(preparation.ok()) << preparation.error().message;
  EXPECT_EQ(prepared(**preparation), prepared(**data::Augmentation::create("zca:0.1", *train)));
  const auto all = *data::open_dataset(noise_folder(folder / "images", 1), data::Split::train, "/");
  EXPECT_NE(prepared(**preparation), prepared(**data::Augmentation::create("zca:0.1", *all)));
}

TEST(PreparationOf, SaysWhatIsWrong) {
  const auto unknown = preparation_of(trained_with("normalize"), "/");
  EXPECT_EQ(unknown.code(), Code::not_found);
  EXPECT_EQ(unknown.error().message,
            "augmentation of the network: unknown transformation 'normalize'; did you mean 'normalise'?");
  const auto message_of = [](const Graph& graph) {
    const auto preparation = preparation_of(graph, "/nowhere");
    return preparation.ok() ? "" : preparation.error().message;
  };
  EXPECT_NE(message_of(trained_with("zca", "mnist")).find("zca: its training samples: "), std::string::npos)
      << message_of(trained_with("zca", "mnist"));
  EXPECT_NE(message_of(trained_with("zca")).find("no metadata 'mangrove.data'"), std::string::npos);
  EXPECT_NE(message_of(trained_with("zca", "glyphs")).find("have shape [1, 28, 28], those to be transformed [1, 6, 6]"),
            std::string::npos)
      << message_of(trained_with("zca", "glyphs"));
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
