#include "mangrove/cli/reports/confusion_report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mangrove::cli {
namespace {

/// Of so many classes, of each ten samples; of the first three are taken for the second.
std::string text_of(std::size_t classes, const std::string& stem) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> rows;
  for (std::size_t truth = 0; truth < classes; ++truth) {
    names.push_back(stem + std::to_string(truth));
    rows.emplace_back(classes, 0)[truth] = truth == 0 ? 7 : 10;
    if (truth == 0) rows.back()[1] = 3;
  }
  return confusion_text(names, rows);
}

TEST(ConfusionText, IsTheMatrixWhereItFits) {
  const std::string text = text_of(10, "");
  EXPECT_NE(text.find("truth"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12);
}

TEST(ConfusionText, ListsTheWorstClassesAndPairsWhereItIsWide) {
  const std::string text = text_of(38, "a plant with a long name ");
  for (const char* part : {"recall of the 10 worst of 38 classes", "70.00 %  7 of 10", "3 images  taken for a plant"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = text.find('\n', at);
    EXPECT_LE(std::min(end, text.size()) - at, 80u) << text;
  }
}

TEST(ConfusionText, IsEmptyWithoutOne) {
  EXPECT_EQ(confusion_text({}, {}), "");
  EXPECT_EQ(confusion_text({"a"}, {{1, 2}}), "") << "not square";
}

}  // namespace
}  // namespace mangrove::cli
