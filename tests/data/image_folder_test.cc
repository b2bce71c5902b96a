#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"
#include "tests/data/sample_images.h"

#include "mangrove/data/dataset.h"
#include "mangrove/data/image.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::write;

/// A PNG of one colour.
std::string png(int width, int height, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  Image image{width, height, 3, {}};
  for (int i = 0; i < width * height; ++i)
    for (const std::uint8_t colour : {red, green, blue}) image.pixels.push_back(colour);
  return encode_png(image);
}

class ImageFolderTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<const Dataset>> open(Split split, const std::string& options = "") const {
    return open_dataset("folder:" + folder_.path().string() + options, split, "/nowhere");
  }
  void expect_refused(const Result<std::shared_ptr<const Dataset>>& opened, Code code, const std::string& part) const {
    ASSERT_FALSE(opened.ok()) << part;
    EXPECT_EQ(opened.code(), code) << opened.error().message;
    EXPECT_NE(opened.error().message.find(part), std::string::npos) << opened.error().message;
  }
  const TemporaryFolder folder_;
};

TEST_F(ImageFolderTest, SplitsAndClassesAreFolders) {
  write(folder_ / "train" / "rust" / "b.png", png(4, 3, 255, 0, 51));
  write(folder_ / "train" / "rust" / "a.jpg", testing::kColourJpeg);
  write(folder_ / "train" / "rust" / "notes.txt", "no image");
  write(folder_ / "train" / "rust" / ".hidden.png", "no image");
  write(folder_ / "train" / "blight" / "x.png", png(4, 3, 0, 255, 0));
  write(folder_ / "val" / "rust" / "v.png", png(4, 3, 0, 0, 0));
  write(folder_ / "test" / "blight" / "t.png", png(8, 6, 102, 0, 0));
  const auto train = *open(Split::train);
  EXPECT_EQ(train->class_names(), (std::vector<std::string>{"blight", "rust"}));
  EXPECT_EQ(train->size(), 3u);
  EXPECT_EQ(train->sample_shape(), (Shape{3, 3, 4})) << "as the first image";
  EXPECT_EQ(train->label(0), 0);
  EXPECT_EQ(train->label(2), 1);
  std::vector<float> pixels(36);
  ASSERT_TRUE(train->read(2, pixels).ok());
  EXPECT_EQ(pixels[0], 1);
  EXPECT_EQ(pixels[12], 0);
  EXPECT_EQ(pixels[35], 51 / 255.0f);
  EXPECT_TRUE(train->read(1, pixels).ok()) << "a JPEG of another size is scaled";
  EXPECT_EQ((*open(Split::validation))->label(0), 1);
  const auto test = *open(Split::test);
  EXPECT_EQ(test->sample_shape(), train->sample_shape());
  ASSERT_TRUE(test->read(0, pixels).ok());
  EXPECT_EQ(pixels[0], 102 / 255.0f);
}

TEST_F(ImageFolderTest, SizeAndChannelsCanBeGiven) {
  write(folder_ / "a" / "x.png", png(8, 8, 255, 255, 255));
  const auto dataset = *open(Split::train, ",size=6x4,channels=1");
  EXPECT_EQ(dataset->sample_shape(), (Shape{1, 4, 6}));
  std::vector<float> pixels(24);
  ASSERT_TRUE(dataset->read(0, pixels).ok());
  EXPECT_EQ(pixels[23], 1);
  for (const char* bad : {",size=0", ",size=6x", ",size=x", ",size=1e3", ",size=5000"})
    expect_refused(open(Split::train, bad), Code::invalid_argument, "option 'size'");
  expect_refused(open(Split::train, ",channels=2"), Code::invalid_argument, "is not 1 or 3");
  expect_refused(open(Split::train, ",colour=no"), Code::invalid_argument, "unknown option 'colour'");
}

TEST_F(ImageFolderTest, SplitsAreCarvedFromAFolderWithoutThem) {
  for (const char* name : {"a", "b"})
    for (int i = 0; i < 10; ++i) write(folder_ / name / (std::to_string(i) + ".png"), png(2, 2, 0, 0, 0));
  EXPECT_EQ((*open(Split::train))->size(), 20u);
  expect_refused(open(Split::test), Code::not_found, "has no test split; carve one");
  expect_refused(open(Split::validation, ",test=0.2"), Code::not_found, "has no validation split; carve one");
  const std::string shares = ",test=0.2,validation=0.1";
  EXPECT_EQ((*open(Split::train, shares))->size(), 14u);
  EXPECT_EQ((*open(Split::validation, shares))->size(), 2u);
  EXPECT_EQ((*open(Split::test, shares))->size(), 4u);
  EXPECT_EQ((*open(Split::test, ",test=8"))->size(), 8u) << "a number of samples";
  expect_refused(open(Split::train, ",test=0.5,validation=10"), Code::invalid_argument, "leave nothing to train with");
  expect_refused(open(Split::test, ",test=0.01"), Code::invalid_argument, "is empty");
  fs::create_directories(folder_ / "train");
  fs::rename(folder_ / "a", folder_ / "train" / "a");
  write(folder_ / "test" / "a" / "0.png", png(2, 2, 0, 0, 0));
  expect_refused(open(Split::train, ",test=0.1"), Code::invalid_argument, "has a test split of its own");
}

TEST_F(ImageFolderTest, BalanceRepeatsSmallClassesInTrainingOnly) {
  for (int i = 0; i < 6; ++i) write(folder_ / "train" / "many" / (std::to_string(i) + ".png"), png(2, 2, 0, 0, 0));
  write(folder_ / "train" / "one" / "0.png", png(2, 2, 0, 0, 0));
  write(folder_ / "test" / "one" / "0.png", png(2, 2, 0, 0, 0));
  EXPECT_EQ((*open(Split::train, ",balance=yes"))->size(), 12u);
  EXPECT_EQ((*open(Split::test, ",balance=yes"))->size(), 1u);
  EXPECT_EQ((*open(Split::train, ",balance=9"))->size(), 18u);
  for (const char* bad : {"0", "-3", "some", "2.5"})
    expect_refused(open(Split::train, std::string(",balance=") + bad), Code::invalid_argument,
                   "is not yes, no or a number from 1 to 1,000,000");
}

TEST_F(ImageFolderTest, SaysWhatIsWrong) {
  expect_refused(open_dataset("folder:none", Split::train, "/nowhere"), Code::not_found, "no folder '/nowhere/none'");
  expect_refused(open_dataset("folder", Split::train, "/nowhere"), Code::invalid_argument,
                 "no path: expected folder:PATH");
  expect_refused(open(Split::train), Code::not_found, "no folders in it");
  fs::create_directories(folder_ / "train" / "a");
  expect_refused(open(Split::train), Code::not_found, "no JPEG, PNG, PPM or PGM images in it");
  write(folder_ / "train" / "a" / "x.png", png(2, 2, 0, 0, 0));
  write(folder_ / "train" / "a" / "y.png", "not a PNG");
  write(folder_ / "test" / "b" / "x.png", png(2, 2, 0, 0, 0));
  expect_refused(open(Split::test), Code::data_loss, "class 'b' is not among the 1 classes");
  std::vector<float> pixels(12);
  const Status status = (*open(Split::train))->read(1, pixels);
  EXPECT_EQ(status.code(), Code::data_loss);
  EXPECT_NE(status.error().message.find("y.png"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::data
