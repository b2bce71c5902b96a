#include "mangrove/cli/reports/confusion_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mangrove::cli {
namespace {

using nlohmann::json;

/// So many classes, of each ten samples; of the first three are taken for the second.
json result(int classes, const std::string& stem) {
  json names = json::array(), rows = json::array();
  for (int truth = 0; truth < classes; ++truth) {
    names.push_back(stem + std::to_string(truth));
    json row(std::vector<int>(static_cast<std::size_t>(classes), 0));
    row[static_cast<std::size_t>(truth)] = truth == 0 ? 7 : 10;
    if (truth == 0) row[1] = 3;
    rows.push_back(row);
  }
  return {{"classes", names}, {"confusion", rows}};
}

TEST(ConfusionText, IsTheMatrixWhereItFits) {
  const std::string text = confusion_text(result(10, ""));
  EXPECT_NE(text.find("truth"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12);
}

TEST(ConfusionText, ListsTheWorstClassesAndPairsWhereItIsWide) {
  const std::string text = confusion_text(result(38, "a plant with a long name "));
  for (const char* part : {"recall of the 10 worst of 38 classes", "70.00 %  7 of 10", "3 images  taken for a plant"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = text.find('\n', at);
    EXPECT_LE(std::min(end, text.size()) - at, 100u) << text;
  }
}

TEST(ConfusionText, IsEmptyWithoutOne) {
  EXPECT_EQ(confusion_text(json::object()), "");
  EXPECT_EQ(confusion_text({{"classes", json::array({"a"})}, {"confusion", json::array({json::array({1, 2})})}}), "")
      << "not square";
}

}  // namespace
}  // namespace mangrove::cli
