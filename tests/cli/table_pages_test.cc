// Tables of pages that have a row for each row of a table of the program.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.h"

#include "mangrove/base/table.h"
#include "mangrove/compress/method.h"
#include "mangrove/infer/strategy_row.h"
#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/schedule.h"
#include "mangrove/place/solver.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::cli {
namespace {

/// What stands in backquotes at the beginning of the rows of the page's first table whose head begins with this cell.
std::multiset<std::string> rows_of_page(const std::string& page, const std::string& head) {
  std::ifstream file(testing::repository_path("docs/" + page));
  std::string line;
  while (std::getline(file, line) && !line.starts_with("| " + head + " |")) continue;
  EXPECT_TRUE(file.good()) << page << " has no table of " << head;
  std::getline(file, line);  // of dashes
  std::multiset<std::string> names;
  while (std::getline(file, line) && line.starts_with("| `")) names.insert(line.substr(3, line.find('`', 3) - 3));
  return names;
}

std::vector<std::string> pipelines() {
  std::vector<std::string> names;
  for (const train::Strategy& row : train::strategies())
    if (row.pipeline != nullptr) names.emplace_back(row.name);
  return names;
}

TEST(TablePages, HaveTheRowsOfTheProgram) {
  struct TablePage {
    const char* page;
    const char* head;
    std::vector<std::string> names;
  };
  const TablePage tables[] = {{"training.md", "`optimizer`", row_names(learn::optimizers())},
                              {"training.md", "`schedule`", row_names(learn::schedules())},
                              {"training.md", "`loss`", row_names(learn::losses())},
                              {"tiers.md", "`--scheduler`", row_names(infer::schedulers())},
                              {"tiers.md", "`--policy`", row_names(infer::fault_policies())},
                              {"inference.md", "`strategy`", row_names(infer::strategies())},
                              {"pipeline-training.md", "`strategy`", pipelines()},
                              {"placement.md", "solver", row_names(place::solvers())},
                              {"compression.md", "method", row_names(compress::methods())}};
  for (const auto& [page, head, names] : tables)
    EXPECT_EQ(rows_of_page(page, head), std::multiset<std::string>(names.begin(), names.end())) << page << " " << head;
}

}  // namespace
}  // namespace mangrove::cli
