// Commands that compute in their own process show a person at a terminal how far they are, and nobody else.
#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/cli/on_a_terminal.h"
#include "tests/cli/process.h"

namespace mangrove {
namespace {

using testing::Finished;
using testing::OnATerminal;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

struct Case {
  const char* name;
  const char* model;  // of the zoo
  std::vector<std::string> arguments;
  const char* bar;  // begins so
  const char* last;
};

class MovingProgress : public ::testing::TestWithParam<Case> {};

TEST_P(MovingProgress, IsForPeopleAtATerminal) {
  const TemporaryFolder folder;
  const Case& one = GetParam();
  const Finished made =
      run_program({program(), "model", "export", one.model, "--output", folder / "model.onnx", "--quiet"});
  ASSERT_EQ(made.status, 0) << made.err;
  std::vector<std::string> arguments = {program()};
  for (std::string argument : one.arguments) {
    if (const auto at = argument.find("$T"); at != std::string::npos) argument.replace(at, 2, folder.path());
    arguments.push_back(argument);
  }
  OnATerminal shown(arguments);
  EXPECT_TRUE(shown.shows(one.bar)) << shown.shown();
  EXPECT_TRUE(shown.shows(one.last)) << shown.shown();
  EXPECT_EQ(shown.wait(), 0);
  const Finished piped = run_program(arguments);
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_EQ(piped.err.find('['), std::string::npos) << piped.err;
  EXPECT_NE(piped.out.find(one.last), std::string::npos) << piped.out;
  arguments.emplace_back("--quiet");
  OnATerminal quiet(arguments);
  EXPECT_TRUE(quiet.shows(one.last)) << quiet.shown();
  EXPECT_EQ(quiet.shown().find(one.bar), std::string::npos) << quiet.shown();
  EXPECT_EQ(quiet.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, MovingProgress,
    ::testing::Values(
        Case{"eval", "lenet", {"eval", "--model", "$T/model.onnx", "--data", "glyphs"}, "evaluate [", "macro F1"},
        Case{"tune_exits",
             "branchy-lenet",
             {"tune-exits", "$T/model.onnx", "--data", "glyphs,validation=500"},
             "record   [",
             "written to"},
        Case{"privacy",
             "lenet",
             {"privacy", "--model", "$T/model.onnx", "--data", "glyphs", "--steps", "3", "--images", "20", "--cuts",
              "pool1"},
             "train    [",
             "SSIM 1"},
        Case{"profile",
             "lenet",
             {"profile", "$T/model.onnx", "--seconds", "0.2s", "--fresh", "--data-dir", "$T/data", "--output",
              "$T/profile.yaml"},
             "measure  [",
             "cost model within"},
        Case{"data_info", "lenet", {"data", "info", "glyphs"}, "read  ", "deviation"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace mangrove
