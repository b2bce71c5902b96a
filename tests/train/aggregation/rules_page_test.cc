#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/paths.h"

#include "mangrove/base/file.h"
#include "mangrove/train/aggregation/aggregation.h"

// docs/robust-aggregation.md has a table with a row for each rule.
namespace mangrove::train {
namespace {

/// As the page has it: `multi_krum(f,m)`
std::string call_of(const AggregationRow& row) {
  std::string arguments;
  for (const CallParameter& parameter : row.parameters)
    arguments += (arguments.empty() ? "" : ",") + std::string(parameter.name);
  return "`" + std::string(row.name) + (arguments.empty() ? "" : "(" + arguments + ")") + "`";
}

TEST(RulesPage, HasARowForEachRuleOfTheTable) {
  const Result<std::string> page = read_file(testing::repository_path("docs/robust-aggregation.md"));
  ASSERT_TRUE(page.ok());
  std::istringstream lines(page->substr(page->find("| `aggregate` |")));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  for (const AggregationRow& row : aggregations()) {
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with("| " + call_of(row) + " |")) << line;
  }
  std::getline(lines, line);
  EXPECT_FALSE(line.starts_with("|")) << line;
}

}  // namespace
}  // namespace mangrove::train
