#include "mangrove/data/cifar.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::write;

/// `n` records, each with the labels that `labels` gives for it, and pixels (record + pixel) mod 256.
std::string records(int n, const std::function<std::string(int)>& labels, int first = 0) {
  std::string file;
  for (int i = first; i < first + n; ++i) {
    file += labels(i);
    for (int k = 0; k < 3072; ++k) file += static_cast<char>((i + k) % 256);
  }
  return file;
}

std::string one_label(int i) {
  return std::string(1, static_cast<char>(i % 10));
}
/// Fine class i mod 100 is in coarse class fine / 5.
std::string two_labels(int i) {
  return {static_cast<char>(i % 100 / 5), static_cast<char>(i % 100)};
}

std::string names(const char* prefix, int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += prefix + std::to_string(i) + "\n";
  return text;
}

TEST(Cifar10, ReadsRecordsAcrossFiles) {
  const TemporaryFolder folder;
  for (int batch = 0; batch < 5; ++batch)
    write(folder / "cifar-10-batches-bin" / ("data_batch_" + std::to_string(batch + 1) + ".bin"),
          records(batch + 1, &one_label, batch * (batch + 1) / 2));
  write(folder / "cifar-10-batches-bin" / "test_batch.bin", records(4, &one_label));
  const auto opened = open_cifar10(Split::train, folder.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Dataset& dataset = **opened;
  EXPECT_EQ(dataset.size(), 15u);
  EXPECT_EQ(dataset.sample_shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(dataset.class_names()[3], "cat");
  EXPECT_EQ(dataset.coarse(), nullptr);
  EXPECT_EQ(open_dataset("cifar10,labels=coarse", Split::train, folder.path()).error().message,
            "data 'cifar10,labels=coarse': option 'labels': the data has no classes above its own");
  EXPECT_EQ(dataset.title(), "");
  std::vector<float> pixels(3072);
  for (std::uint32_t i = 0; i < 15; ++i) {
    EXPECT_EQ(dataset.label(i), static_cast<std::int32_t>(i % 10));
    ASSERT_TRUE(dataset.read(i, pixels).ok());
    for (std::uint32_t k = 0; k < 3072; ++k) ASSERT_EQ(pixels[k], static_cast<float>((i + k) % 256) / 255.0f);
  }
  EXPECT_EQ((*open_cifar10(Split::test, folder.path()))->size(), 4u);
  EXPECT_EQ(*open_cifar10(Split::validation, folder.path()), nullptr);
}

TEST(Cifar10, VariantsSayWhatTheyAre) {
  const TemporaryFolder folder;
  write(folder / "cifar-10-jpeg-batches-bin" / "test_batch.bin", records(1, &one_label));
  write(folder / "cifar10-lossless" / "data_batch_1.bin", records(2, &one_label));
  EXPECT_EQ((*open_cifar10_jpeg(Split::test, folder.path()))->title(), "CIFAR-10 (JPEG q75)");
  EXPECT_EQ((*open_cifar10_lossless(Split::train, folder.path()))->title(), "CIFAR-10 (first 10,000 training images)");
}

TEST(Cifar10, RefusesMissingTruncatedAndMislabelledFiles) {
  const TemporaryFolder folder;
  const auto open = [&] { return open_cifar10(Split::test, folder.path()); };
  const fs::path file = folder / "cifar-10-batches-bin" / "test_batch.bin";
  EXPECT_EQ(open().error().message, "cifar10: test_batch.bin not in " + file.parent_path().string() +
                                        "; get it with 'mangrove data fetch cifar10'");
  EXPECT_EQ(open().code(), Code::not_found);
  write(file, records(2, &one_label).substr(0, 5000));
  EXPECT_EQ(open().error().message,
            file.string() + ": 5000 bytes found, a multiple of the 3073 bytes of a record expected");
  write(file, "");
  EXPECT_EQ(open().code(), Code::data_loss);
  write(file, records(1, &one_label) + records(1, [](int) { return std::string("\x0a"); }));
  EXPECT_EQ(open().error().message, file.string() + ": label 10 of record 1: expected 0 to 9");
}

class Cifar100Test : public ::testing::Test {
 protected:
  Cifar100Test() {
    write(file("train.bin"), records(200, &two_labels));
    write(file("test.bin"), records(3, &two_labels, 97));
    write(file("fine_label_names.txt"), names("fine", 100) + "\n");
    write(file("coarse_label_names.txt"), names("coarse", 20));
  }
  fs::path file(const char* name) const { return folder_ / "cifar-100-binary" / name; }
  const TemporaryFolder folder_;
};

TEST_F(Cifar100Test, FineLabelsWithTheirHierarchy) {
  const auto opened = open_cifar100(Split::train, folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Dataset& dataset = **opened;
  EXPECT_EQ(dataset.classes(), 100);
  EXPECT_EQ(dataset.label(142), 42);
  ASSERT_NE(dataset.coarse(), nullptr);
  EXPECT_EQ(dataset.coarse()->names.size(), 20u);
  EXPECT_EQ(dataset.coarse()->of_class[42], 8);
  EXPECT_EQ(dataset.coarse()->of_class[99], 19);
}

TEST_F(Cifar100Test, CoarseLabels) {
  const auto dataset = *open_dataset("cifar100,labels=coarse", Split::test, folder_.path());
  EXPECT_EQ(dataset->classes(), 20);
  EXPECT_EQ(dataset->class_names()[19], "coarse19");
  EXPECT_EQ(dataset->label(0), 97 / 5);
  std::vector<float> pixels(3072);
  ASSERT_TRUE(dataset->read(0, pixels).ok());
  EXPECT_EQ(pixels[0], 97 / 255.0f) << "the pixels begin after both labels";
}

TEST_F(Cifar100Test, RefusesContradictingHierarchyAndMissingNames) {
  write(file("train.bin"), records(5, &two_labels) + records(1, [](int) { return std::string("\7\3", 2); }));
  const auto contradicting = open_cifar100(Split::train, folder_.path());
  EXPECT_EQ(contradicting.code(), Code::data_loss);
  EXPECT_NE(contradicting.error().message.find("sample 5: coarse class 7 of fine class 3: expected 0"),
            std::string::npos)
      << contradicting.error().message;
  write(file("fine_label_names.txt"), names("fine", 99));
  EXPECT_NE(open_cifar100(Split::test, folder_.path()).error().message.find("99 names of classes found, 100 expected"),
            std::string::npos);
}

}  // namespace
}  // namespace mangrove::data
