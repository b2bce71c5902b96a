#include <gtest/gtest.h>

#include <set>

#include "tests/base/temporary_folder.h"
#include "tests/data/idx_files.h"

#include "mangrove/data/dataset.h"

namespace mangrove::data {
namespace {

using mangrove::testing::TemporaryFolder;
using testing::write;

/// Rows `first` to `last` - 1 of one label: t, x = row, y = -row.
std::string rows(int first, int last, const std::string& label, const std::string& group = "g") {
  std::string text;
  for (int i = first; i < last; ++i)
    text +=
        std::to_string(i * 0.5) + "," + std::to_string(i) + "," + std::to_string(-i) + "," + label + "," + group + "\n";
  return text;
}
constexpr const char* kHeader = "t,x,y,label,who\n";

class CsvWindowsTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<const Dataset>> open(const std::string& options, Split split = Split::train) const {
    return open_dataset("csv:" + (folder_ / "walk.csv").string() + ",skip=t;who" + options, split, "/nowhere");
  }
  /// The rows where the windows of a data set begin.
  static std::vector<float> starts(const Dataset& dataset) {
    std::vector<float> first;
    std::vector<float> sample(static_cast<std::size_t>(dataset.sample_shape().elements()));
    for (std::uint32_t i = 0; i < dataset.size(); ++i) {
      EXPECT_TRUE(dataset.read(i, sample).ok());
      first.push_back(sample[0]);
    }
    return first;
  }
  const TemporaryFolder folder_;
};

TEST_F(CsvWindowsTest, CutsRecordingsIntoWindowsOfChannels) {
  write(folder_ / "walk.csv", kHeader + rows(0, 10, "walk") + rows(10, 17, "rest") + rows(17, 19, "walk"));
  const auto dataset = *open(",window=4,stride=3");
  EXPECT_EQ(dataset->class_names(), (std::vector<std::string>{"rest", "walk"}));
  EXPECT_EQ(dataset->sample_shape(), (Shape{2, 4}));
  EXPECT_EQ(starts(*dataset), (std::vector<float>{0, 3, 6, 10, 13}));
  EXPECT_EQ(dataset->label(2), 1);
  EXPECT_EQ(dataset->label(3), 0);
  std::vector<float> sample(8);
  ASSERT_TRUE(dataset->read(1, sample).ok());
  EXPECT_EQ(sample, (std::vector<float>{3, 4, 5, 6, -3, -4, -5, -6}));
  EXPECT_EQ(starts(**open(",window=4")), (std::vector<float>{0, 4, 10}));
}

TEST_F(CsvWindowsTest, WindowsStayWithinAGroup) {
  write(folder_ / "walk.csv", kHeader + rows(0, 5, "walk", "ann") + rows(5, 10, "walk", "bob"));
  const std::string path = "csv:" + (folder_ / "walk.csv").string() + ",window=4,stride=1,skip=t";
  EXPECT_EQ(starts(**open_dataset(path + ",group=who", Split::train, "/")), (std::vector<float>{0, 1, 5, 6}));
}

TEST_F(CsvWindowsTest, SplitsAreDisjointPartsOfEveryRecordingsTime) {
  write(folder_ / "walk.csv", kHeader + rows(0, 100, "1") + rows(100, 200, "10") + rows(200, 300, "9"));
  const std::string options = ",window=10,stride=5,validation=0.2,test=0.2";
  const auto train = *open(options), validation = *open(options, Split::validation), test = *open(options, Split::test);
  EXPECT_EQ(train->class_names(), (std::vector<std::string>{"1", "9", "10"})) << "by number";
  EXPECT_EQ(train->size(), 3u * 11);
  EXPECT_EQ(starts(*validation), (std::vector<float>{60, 65, 70, 160, 165, 170, 260, 265, 270}));
  EXPECT_EQ(test->size(), 9u);
  std::set<float> of_test;
  for (const float start : starts(*test))
    for (int i = 0; i < 10; ++i) of_test.insert(start + static_cast<float>(i));
  for (const Dataset* other : {train.get(), validation.get()})
    for (const float start : starts(*other)) EXPECT_FALSE(of_test.contains(start + 9)) << start;
}

TEST_F(CsvWindowsTest, PartsOfShortRecordingsAreWholeWindows) {
  write(folder_ / "walk.csv", kHeader + rows(0, 35, "walk") + rows(35, 70, "rest"));
  const std::string options = ",window=10,validation=0.05,test=0.1";
  EXPECT_EQ(starts(**open(options)), (std::vector<float>{0, 35}));
  EXPECT_EQ(starts(**open(options, Split::validation)), (std::vector<float>{15, 50}));
  EXPECT_EQ(starts(**open(options, Split::test)), (std::vector<float>{25, 60}));
}

TEST_F(CsvWindowsTest, FolderOfSplits) {
  write(folder_ / "set" / "train.csv", kHeader + rows(0, 10, "walk") + rows(10, 20, "rest"));
  write(folder_ / "set" / "test.csv", kHeader + rows(0, 5, "walk"));
  const std::string path = "csv:" + (folder_ / "set").string() + ",window=5,skip=t;who";
  const auto test = *open_dataset(path, Split::test, "/");
  EXPECT_EQ(test->classes(), 2);
  EXPECT_EQ(test->label(0), 1);
  EXPECT_EQ(open_dataset(path, Split::validation, "/").code(), Code::not_found);
  write(folder_ / "set" / "test.csv", kHeader + rows(0, 5, "run"));
  EXPECT_NE(open_dataset(path, Split::test, "/").error().message.find("label 'run' does not occur in the training"),
            std::string::npos);
}

TEST_F(CsvWindowsTest, AFolderWithoutAValidationFileCarvesItFromTraining) {
  write(folder_ / "set" / "train.csv", kHeader + rows(0, 40, "walk") + rows(40, 80, "rest"));
  write(folder_ / "set" / "test.csv", kHeader + rows(0, 5, "walk"));
  const std::string path = "csv:" + (folder_ / "set").string() + ",window=5,skip=t;who";
  const auto all = *open_dataset(path, Split::train, "/");
  const auto train = *open_dataset(path + ",validation=0.25", Split::train, "/");
  const auto validation = open_dataset(path + ",validation=0.25", Split::validation, "/");
  ASSERT_TRUE(validation.ok()) << validation.error().message;
  EXPECT_EQ(starts(**validation), (std::vector<float>{30, 35, 70, 75}));
  std::vector<float> both = starts(*train), of_validation = starts(**validation);
  both.insert(both.end(), of_validation.begin(), of_validation.end());
  EXPECT_EQ(std::set<float>(both.begin(), both.end()).size(), all->size()) << "no window is lost";
  EXPECT_EQ((*open_dataset(path + ",validation=0.25", Split::test, "/"))->size(), 1u) << "its own file";

  const auto refused = open_dataset(path + ",test=0.2", Split::train, "/");
  ASSERT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("test.csv is this split already"), std::string::npos)
      << refused.error().message;
}

TEST_F(CsvWindowsTest, SaysWhatIsWrong) {
  struct Case {
    std::string content, options, message;
    Code code;
  };
  const std::string good = kHeader + rows(0, 9, "walk");
  const Case cases[] = {
      {good, ",label=labl", "no column 'labl'; did you mean 'label'?", Code::invalid_argument},
      {good, ",window=0", "option 'window': '0'", Code::invalid_argument},
      {good, ",window=10", "as long as a window of 10 rows", Code::data_loss},
      {good, ",test=0.5,validation=0.5", "leave nothing to train with", Code::invalid_argument},
      {good + "1,2,x,walk,g\n", ",window=2", "line 11: column 'y': 'x' is not a finite number", Code::data_loss},
      {good + "1,2,nan,walk,g\n", ",window=2", "line 11: column 'y': 'nan' is not", Code::data_loss},
      {good + "1,2,1e99,walk,g\n", ",window=2", "'1e99' is not a finite number", Code::data_loss},
      {good + "1,2\n", ",window=2", "line 11: 2 fields found, 5 expected", Code::data_loss},
      {good + "1,2,3,,g\n", ",window=2", "column 'label' is empty", Code::data_loss},
      {kHeader, ",window=2", "no rows", Code::data_loss},
      {"", ",window=2", "no rows", Code::data_loss},
      {"t,label,who\n1,walk,g\n", ",window=1", "no columns of channels", Code::data_loss},
  };
  for (const Case& test : cases) {
    write(folder_ / "walk.csv", test.content);
    const auto opened = open(test.options);
    ASSERT_FALSE(opened.ok()) << test.message;
    EXPECT_EQ(opened.code(), test.code) << opened.error().message;
    EXPECT_NE(opened.error().message.find(test.message), std::string::npos) << opened.error().message;
  }
  EXPECT_EQ(open_dataset("csv:none.csv", Split::train, "/nowhere").code(), Code::not_found);
}

TEST_F(CsvWindowsTest, WindowsLineEndsAndSpacesDoNotMatter) {
  write(folder_ / "walk.csv", "x , label\r\n 1.5, walk \r\n\r\n-2e-1,walk\r\n");
  const auto dataset = *open_dataset((folder_ / "walk.csv").string() + ",window=2", Split::train, "/");
  std::vector<float> sample(2);
  ASSERT_TRUE(dataset->read(0, sample).ok());
  EXPECT_EQ(sample, (std::vector<float>{1.5f, -0.2f}));
}

}  // namespace
}  // namespace mangrove::data
