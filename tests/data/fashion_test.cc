#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

#include "mangrove/data/dataset.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::counting_images;
using testing::counting_labels;
using testing::gzipped;
using testing::write;

TEST(Fashion, ReadsTheFilesAsTheyArePublished) {
  const TemporaryFolder folder;
  for (const auto& [prefix, samples] : {std::pair{"train", 12u}, {"t10k", 3u}}) {
    const std::string start = std::string("fashion/") + prefix;
    write(folder / (start + "-images-idx3-ubyte.gz"), gzipped(counting_images(samples)));
    write(folder / (start + "-labels-idx1-ubyte.gz"), gzipped(counting_labels(samples)));
  }
  const auto train = open_dataset("fashion", Split::train, folder.path());
  ASSERT_TRUE(train.ok()) << train.error().message;
  EXPECT_EQ((*train)->size(), 12u);
  EXPECT_EQ((*train)->sample_shape(), (Shape{1, 28, 28}));
  EXPECT_EQ((*train)->classes(), 10);
  EXPECT_EQ((*train)->class_names()[3], "dress");
  EXPECT_EQ((*train)->label(11), 1);
  std::vector<float> image(28 * 28);
  ASSERT_TRUE((*train)->read(5, image).ok());
  EXPECT_EQ(image[2], 7 / 255.0f);
  EXPECT_EQ((*open_dataset("fashion", Split::test, folder.path()))->size(), 3u);
  EXPECT_EQ(open_dataset("fashion", Split::validation, folder.path()).code(), Code::not_found);
  EXPECT_EQ((*open_dataset("fashion,classes=dress;coat", Split::train, folder.path()))->class_names(),
            (std::vector<std::string>{"dress", "coat", "rest"}));
}

TEST(Fashion, MissingFilesAreNamedWithWhereTheyAre) {
  const TemporaryFolder folder;
  const auto dataset = open_dataset("fashion", Split::train, folder.path());
  ASSERT_FALSE(dataset.ok());
  EXPECT_EQ(dataset.code(), Code::not_found);
  for (const char* part : {"fashion: train-images-idx3-ubyte", "github.com/zalandoresearch/fashion-mnist"})
    EXPECT_NE(dataset.error().message.find(part), std::string::npos) << dataset.error().message;
}

TEST(Fashion, FilesThatAreCutAreRefused) {
  const TemporaryFolder folder;
  write(folder / "fashion/train-images-idx3-ubyte", counting_images(12).substr(0, 5000));
  write(folder / "fashion/train-labels-idx1-ubyte", counting_labels(12));
  EXPECT_EQ(open_dataset("fashion", Split::train, folder.path()).code(), Code::data_loss);
}

}  // namespace
}  // namespace mangrove::data
