#include "mangrove/data/export.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

#include "mangrove/data/glyphs.h"
#include "mangrove/data/subset.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;

TEST(WriteImageFolder, ReadsBackAsTheSamePixels) {
  const TemporaryFolder folder;
  const auto glyphs = first_samples(make_glyphs(Split::train), 40);
  std::uint32_t told = 0;
  // two shards of one split
  for (const auto& [first, last] : {std::pair{0u, 25u}, std::pair{25u, 40u}})
    ASSERT_TRUE(
        write_image_folder(*glyphs, first, last, folder.path() / "train", [&](std::uint32_t n) { told = n; }, {}).ok());
  EXPECT_EQ(told, 15u);
  const auto images = *open_dataset("folder:" + folder.path().string(), Split::train, "/");
  ASSERT_EQ(images->size(), 40u);
  EXPECT_EQ(images->sample_shape(), (Shape{1, 28, 28}));
  EXPECT_EQ(images->class_names(), glyphs->class_names());
  // the folder gives the first of each class, then the second of each
  std::map<std::pair<int, std::int32_t>, std::uint32_t> by_rank;
  std::map<std::int32_t, int> of_class;
  for (std::uint32_t i = 0; i < 40; ++i) by_rank[{of_class[glyphs->label(i)]++, glyphs->label(i)}] = i;
  std::vector<std::uint32_t> order;
  for (const auto& [rank, index] : by_rank) order.push_back(index);
  std::vector<float> expected(784), found(784);
  for (std::uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(glyphs->read(order[i], expected).ok());
    ASSERT_TRUE(images->read(i, found).ok());
    EXPECT_EQ(found, expected) << i;
    EXPECT_EQ(images->label(i), glyphs->label(order[i]));
  }
}

TEST(WriteImageFolder, StopsWhenAskedTo) {
  const TemporaryFolder folder;
  std::stop_source stop;
  const auto glyphs = make_glyphs(Split::train);
  const auto stop_at_three = [&](std::uint32_t n) {
    if (n == 3) stop.request_stop();
  };
  const Status status = write_image_folder(*glyphs, 0, 10, folder.path(), stop_at_three, stop.get_token());
  EXPECT_EQ(status.code(), Code::cancelled);
  EXPECT_EQ(status.error().message, "stopped after 3 images");
}

TEST(SensorCsv, IsADataSetOfFourActivities) {
  const TemporaryFolder folder;
  testing::write(folder / "motion.csv", make_sensor_csv({.recordings = 8, .rows = 200}));
  const std::string spec = "csv:" + (folder / "motion.csv").string() + ",window=50,skip=time,group=recording,test=0.25";
  const auto train = open_dataset(spec, Split::train, "/");
  ASSERT_TRUE(train.ok()) << train.error().message;
  EXPECT_EQ((*train)->class_names(), (std::vector<std::string>{"rest", "run", "stairs", "walk"}));
  EXPECT_EQ((*train)->sample_shape(), (Shape{6, 50}));
  EXPECT_EQ((*train)->size(), 8u * 3);
  EXPECT_EQ((*open_dataset(spec, Split::test, "/"))->size(), 8u);
  EXPECT_EQ(write_image_folder(**train, 0, 1, folder.path(), [](auto) {}, {}).code(), Code::invalid_argument);
}

TEST(SensorCsv, DependsOnItsOptionsOnly) {
  const SensorOptions options{.recordings = 2, .rows = 10, .seed = 3};
  EXPECT_EQ(make_sensor_csv(options), make_sensor_csv(options));
  EXPECT_NE(make_sensor_csv(options), make_sensor_csv({.recordings = 2, .rows = 10, .seed = 4}));
  const std::string longer = make_sensor_csv({.recordings = 3, .rows = 10, .seed = 3});
  EXPECT_TRUE(longer.starts_with(make_sensor_csv(options)));
}

}  // namespace
}  // namespace mangrove::data
