// Reports are folded at the width of the terminal, and stay as they are for programs that read them.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/on_a_terminal.h"
#include "tests/cli/process.h"

#include "mangrove/cli/reports/terminal.h"

namespace mangrove {
namespace {

constexpr int kTerminalColumns = 100;  // of testing::OnATerminal

struct WideReport {
  const char* name;
  std::vector<std::string> arguments;
};

class FoldedReport : public ::testing::TestWithParam<WideReport> {};

int widest_line(const std::string& text) {
  int widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    widest = std::max(widest, cli::text_width(line));
  }
  return widest;
}

TEST_P(FoldedReport, FitsTheTerminal) {
  std::vector<std::string> arguments = {testing::program()};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  testing::OnATerminal terminal(arguments);
  EXPECT_FALSE(terminal.shows("what no report says")) << terminal.shown();
  EXPECT_EQ(terminal.wait(), 0) << terminal.shown();
  EXPECT_GT(widest_line(terminal.shown()), 0);
  EXPECT_LE(widest_line(terminal.shown()), kTerminalColumns) << terminal.shown();
  const testing::Finished piped = testing::run_program(arguments);
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_GT(widest_line(piped.out), kTerminalColumns) << piped.out;
}

INSTANTIATE_TEST_SUITE_P(Commands, FoldedReport,
                         ::testing::Values(WideReport{"model_list", {"model", "list"}},
                                           WideReport{"data_list", {"data", "list"}}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace mangrove
