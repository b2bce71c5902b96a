#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/infer/strategy.h"
#include "mangrove/train/strategy.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;

/// The page of --json names every trait that a strategy may have.
template <class Table>
void expect_rows(const json& rows, const Table& table) {
  const std::string page = read_file(testing::repository_path("docs/json.md")).value();
  ASSERT_EQ(rows.size(), table.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["name"], table[i].name);
    EXPECT_EQ(rows[i]["on_loss"], table[i].on_loss);
    json traits = json::array();
    table[i].traits(table[i], [&](const char* name, bool has) {
      EXPECT_NE(page.find("`" + std::string(name) + "`"), std::string::npos) << name;
      if (has) traits.push_back(name);
    });
    EXPECT_EQ(rows[i]["traits"], traits);
    EXPECT_FALSE(traits.empty()) << table[i].name;
  }
}

TEST(StrategiesCommand, ListsEveryRowWithItsTraits) {
  const Finished run = run_program({program(), "strategies", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json result = json::parse(run.out);
  expect_rows(result["training"], train::strategies());
  expect_rows(result["inference"], infer::strategies());
  EXPECT_EQ(result["training"][0]["traits"], json({"has_server", "sends_gradients", "collects_vectors"}));
  EXPECT_EQ(result["inference"][0]["traits"], json({"one_network", "takes_requests", "checks_answers"}));
}

TEST(StrategiesCommand, FitsATerminalOf80Columns) {
  const Finished run = run_program({program(), "strategies"});
  ASSERT_EQ(run.status, 0) << run.err;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  for (const auto& row : train::strategies())
    EXPECT_NE(run.out.find("\n  " + std::string(row.name) + " "), std::string::npos) << run.out;
}

}  // namespace
}  // namespace mangrove
