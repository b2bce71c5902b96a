#include "mangrove/data/mnist.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::counting_images;
using testing::counting_labels;
using testing::gzipped;
using testing::idx;
using testing::write;

class MnistTest : public ::testing::Test {
 protected:
  MnistTest() {
    write(file("train-images-idx3-ubyte"), counting_images(12));
    write(file("train-labels-idx1-ubyte"), counting_labels(12));
    write(file("t10k-images-idx3-ubyte.gz"), gzipped(counting_images(3)));
    write(file("t10k-labels-idx1-ubyte.gz"), gzipped(counting_labels(3)));
  }
  fs::path file(const std::string& name) const { return folder_ / "mnist" / name; }
  const fs::path& folder() const { return folder_.path(); }

  /// Opening `split` fails with this code and a message that contains each of `parts`.
  void expect_refused(Split split, Code code, std::initializer_list<std::string> parts) {
    const auto dataset = open_mnist(split, folder());
    ASSERT_FALSE(dataset.ok());
    EXPECT_EQ(dataset.code(), code);
    for (const std::string& part : parts)
      EXPECT_NE(dataset.error().message.find(part), std::string::npos) << part << " in: " << dataset.error().message;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(MnistTest, ReadsPixelsAndLabelsOfBothSplits) {
  for (const auto& [split, size] : {std::pair{Split::train, 12u}, std::pair{Split::test, 3u}}) {
    const auto opened = open_mnist(split, folder());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const Dataset& dataset = **opened;
    EXPECT_EQ(dataset.size(), size);
    EXPECT_EQ(dataset.sample_shape(), (Shape{1, 28, 28}));
    EXPECT_EQ(dataset.classes(), 10);
    EXPECT_EQ(dataset.class_names()[7], "7");
    std::vector<float> pixels(784);
    for (std::uint32_t i = 0; i < size; ++i) {
      EXPECT_EQ(dataset.label(i), static_cast<std::int32_t>(i % 10));
      ASSERT_TRUE(dataset.read(i, pixels).ok());
      for (std::uint32_t k = 0; k < 784; ++k) ASSERT_EQ(pixels[k], static_cast<float>((i + k) % 256) / 255.0f);
    }
  }
}

TEST_F(MnistTest, UnpackedFileIsPreferred) {
  write(file("t10k-images-idx3-ubyte"), counting_images(5));
  write(file("t10k-labels-idx1-ubyte"), counting_labels(5));
  EXPECT_EQ((*open_mnist(Split::test, folder()))->size(), 5u);
}

TEST_F(MnistTest, MissingFilesAreNamedWithTheWayToGetThem) {
  fs::remove(file("train-labels-idx1-ubyte"));
  expect_refused(Split::train, Code::not_found,
                 {"mnist: train-labels-idx1-ubyte (", (folder() / "mnist").string(), "mangrove data fetch mnist",
                  "--data glyphs"});
  fs::remove_all(folder() / "mnist");
  expect_refused(Split::test, Code::not_found, {"t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte"});
}

TEST_F(MnistTest, CorruptFilesAreNamed) {
  write(file("train-images-idx3-ubyte"), counting_images(12).substr(0, 5000));
  expect_refused(Split::train, Code::data_loss,
                 {file("train-images-idx3-ubyte"), "truncated: 5000 bytes found, 9424 expected"});
  write(file("train-images-idx3-ubyte"), counting_labels(12));
  expect_refused(Split::train, Code::data_loss, {"magic number 2049 found, 2051 expected"});
}

TEST_F(MnistTest, EachImageNeedsALabel) {
  write(file("train-labels-idx1-ubyte"), counting_labels(11));
  expect_refused(Split::train, Code::data_loss,
                 {file("train-labels-idx1-ubyte"), "11 labels found, one for each of 12 images expected"});
}

TEST_F(MnistTest, LabelsMustBeDigits) {
  write(file("t10k-labels-idx1-ubyte.gz"), gzipped(idx(2049, {3}, std::string("\1\2\12", 3))));
  expect_refused(Split::test, Code::data_loss, {"label 10 of sample 2: expected 0 to 9"});
}

}  // namespace
}  // namespace mangrove::data
