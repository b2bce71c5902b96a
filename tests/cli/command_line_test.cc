#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"

namespace mangrove {
namespace {

using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

struct Usage {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  const char* says;  // in the one line on standard error
};

class BadUsage : public ::testing::TestWithParam<Usage> {};

TEST_P(BadUsage, GivesOneLineAndTheRightStatus) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {program()};
  for (std::string argument : GetParam().arguments) {
    if (const auto at = argument.find("$T"); at != std::string::npos) argument.replace(at, 2, folder.path());
    arguments.push_back(argument);
  }
  std::ofstream(folder / "garbage.onnx") << "this is not a model";
  std::ofstream(folder / "file") << "a file, not a folder";
  fs::create_directories(folder / "data/mnist");
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"})
    std::ofstream(folder / (std::string("data/mnist/") + name)) << "not IDX at all";
  const Finished run = run_program(arguments, 60, {"HOME=" + folder.path().string()});
  EXPECT_EQ(run.status, GetParam().status) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_LE(lines(run.err), 2u) << run.err;
  EXPECT_EQ(run.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadUsage,
    ::testing::Values(
        Usage{"no_command", {}, 2, "subcommand is required"},
        Usage{"unknown_command", {"trian"}, 2, "unknown command 'trian'; did you mean 'train'?"},
        Usage{"unknown_flag", {"train", "--epoch", "1"}, 2, "--epoch"},
        Usage{"bad_value", {"train", "--epochs", "many"}, 2, "--epochs: 'many' is not a whole number"},
        Usage{"zero_nodes", {"train", "--local", "0"}, 2, "--local: '0' is not a whole number from 1"},
        Usage{"unknown_model",
              {"train", "--model", "lenett", "--data", "glyphs", "--run-dir", "$T/r"},
              2,
              "did you mean 'lenet'"},
        Usage{"unknown_data", {"train", "--data", "mnits", "--run-dir", "$T/r"}, 2, "did you mean 'mnist'"},
        Usage{"unknown_strategy",
              {"train", "--data", "glyphs", "--strategy", "gossip", "--run-dir", "$T/r"},
              2,
              "unknown strategy 'gossip'"},
        Usage{"unknown_schedule",
              {"train", "--data", "glyphs", "--schedule", "cosin", "--run-dir", "$T/r"},
              2,
              "did you mean 'cosine'"},
        Usage{"run_dir_is_a_file", {"train", "--data", "glyphs", "--run-dir", "$T/file"}, 1, "run folder"},
        Usage{"corrupt_idx", {"train", "--data", "mnist", "--data-dir", "$T/data", "--run-dir", "$T/r"}, 1, "ubyte"},
        Usage{"corrupt_onnx", {"eval", "--model", "$T/garbage.onnx", "--data", "glyphs"}, 1, "garbage.onnx"},
        Usage{"missing_onnx",
              {"infer", "--model", "$T/none.onnx", "--data", "glyphs", "--run-dir", "$T/r"},
              2,
              "none.onnx"},
        Usage{"no_model", {"eval", "--data", "glyphs"}, 2, "--model FILE.onnx"},
        Usage{"missing_job_file", {"run", "$T/none.yaml"}, 2, "none.yaml"},
        Usage{"nothing_to_resume", {"train", "--resume", "$T/none"}, 2, "resume"},
        Usage{"no_coordinator_for_train",
              {"train", "--data", "glyphs", "--coordinator", "127.0.0.1:1", "--run-dir", "$T/r"},
              1,
              "127.0.0.1:1"},
        Usage{"no_coordinator_for_node",
              {"node", "--coordinator", "127.0.0.1:1", "--join-timeout", "1s"},
              1,
              "127.0.0.1:1"},
        Usage{"no_coordinator_for_nodes", {"nodes", "--coordinator", "127.0.0.1:1"}, 1, "127.0.0.1:1"},
        Usage{"bad_listen", {"coordinator", "--listen", "nonsense"}, 2, "nonsense"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(CommandLine, HelpOfEveryCommandShowsExamples) {
  for (const char* command : {"run", "train", "eval", "infer", "coordinator", "node", "nodes", "data"}) {
    const Finished run = run_program({program(), command, "--help"});
    EXPECT_EQ(run.status, 0) << command;
    EXPECT_NE(run.out.find("Examples:\n  mangrove " + std::string(command)), std::string::npos) << run.out;
  }
}

TEST(CommandLine, PortInUseIsNamed) {
  testing::Process first({program(), "coordinator", "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(first.wait_until([&] { return first.out().find('\n') != std::string::npos; }, 20)) << first.err();
  const std::string address =
      first.out().substr(first.out().rfind(' ') + 1, first.out().find('\n') - first.out().rfind(' ') - 1);
  const Finished second = run_program({program(), "coordinator", "--listen", address});
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find(address), std::string::npos) << second.err;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(20), 0) << first.err();
}

TEST(CommandLine, FailureWithJsonIsOneObjectToo) {
  const Finished run = run_program({program(), "eval", "--model", "/none.onnx", "--data", "glyphs", "--json"});
  EXPECT_EQ(run.status, 2);
  const auto object = nlohmann::json::parse(run.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << run.out;
  EXPECT_EQ(object["error"]["code"], "not_found");
}

}  // namespace
}  // namespace mangrove
