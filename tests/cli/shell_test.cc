// What the command line gives to shells, to man and to a person who sets up a machine.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

bool is_installed(const std::string& tool) {
  return run_program({"/bin/sh", "-c", "command -v " + tool}).status == 0;
}

/// What bash offers for a command line whose last word is being typed, a word in each line.
std::string completed(const TemporaryFolder& folder, const std::string& line) {
  const std::string script = (folder / "completion.bash").string();
  std::ofstream(script) << run_program({program(), "completion", "bash"}).out;
  const std::string words = "COMP_WORDS=(" + line + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); ";
  return run_program({"/bin/bash", "--norc", "-c",
                      "cd " + folder.path().string() + "; source " + script + "; " + words +
                          "_mangrove; printf '%s\\n' \"${COMPREPLY[@]}\""})
      .out;
}

TEST(Completion, OfBashKnowsCommandsOptionsAndWhatTheyCanBe) {
  const TemporaryFolder folder;
  std::ofstream(folder / "photo.jpg") << "";
  EXPECT_EQ(completed(folder, "mangrove tra"), "train\n");
  EXPECT_EQ(completed(folder, "mangrove data ma"), "make\n");
  EXPECT_EQ(completed(folder, "mangrove data make sens"), "sensors\n");
  EXPECT_EQ(completed(folder, "mangrove train --learning-"), "--learning-rate\n");
  EXPECT_EQ(completed(folder, "mangrove train --json --model lenet --strategy feder"), "federated\n");
  EXPECT_EQ(completed(folder, "mangrove infer --strategy ens"), "ensemble\n");
  EXPECT_EQ(completed(folder, "mangrove train --data gly"), "glyphs\n");
  EXPECT_EQ(completed(folder, "mangrove predict --input pho"), "photo.jpg\n");
  EXPECT_EQ(completed(folder, "mangrove help quan"), "quantize\n");
  EXPECT_EQ(completed(folder, "mangrove completion z"), "zsh\n");
}

TEST(Completion, OfOtherShellsIsValid) {
  const TemporaryFolder folder;
  for (const std::string shell : {"zsh", "fish"}) {
    const Finished made = run_program({program(), "completion", shell});
    ASSERT_EQ(made.status, 0) << made.err;
    for (const char* part : {"train", "federated", "learning-rate", "sensors"})
      EXPECT_NE(made.out.find(part), std::string::npos) << part;
    std::ofstream(folder / shell) << made.out;
    if (!is_installed(shell)) continue;  // its own check is a bonus; bash is always there
    const Finished checked = run_program({"/usr/bin/env", shell, "-n", (folder / shell).string()});
    EXPECT_EQ(checked.status, 0) << checked.err;
  }
}

TEST(ManPage, HasEveryCommandAndNoErrorsOfTroff) {
  const TemporaryFolder folder;
  const Finished page = run_program({program(), "man"});
  ASSERT_EQ(page.status, 0) << page.err;
  for (const char* part : {".TH MANGROVE 1", ".SS mangrove train", ".SS mangrove data make sensors",
                           "\\-\\-learning\\-rate", "config.yaml", "NO_COLOR"})
    EXPECT_NE(page.out.find(part), std::string::npos) << part;
  ASSERT_TRUE(is_installed("groff")) << "scripts/install-packages.sh test installs it";
  std::ofstream(folder / "mangrove.1") << page.out;
  const Finished shown =
      run_program({"/usr/bin/env", "groff", "-man", "-Tascii", "-ww", "-z", (folder / "mangrove.1").string()});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.err, "");
}

struct Configuration : ::testing::Test {
  TemporaryFolder folder;
  std::vector<std::string> environment = {"XDG_CONFIG_HOME=" + folder.path().string()};

  void write(const std::string& text) const {
    fs::create_directories(folder / "mangrove");
    std::ofstream(folder / "mangrove/config.yaml") << text;
  }
  Finished run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program());
    return run_program(arguments, 60, environment);
  }
};

TEST_F(Configuration, GivesDefaultsThatFlagsWinOver) {
  write("coordinator: 127.0.0.1:1\ndata_dir: " + (folder / "own").string() + "\n");
  EXPECT_NE(run({"nodes"}).err.find("127.0.0.1:1"), std::string::npos);
  EXPECT_NE(run({"nodes", "--coordinator", "127.0.0.1:2"}).err.find("127.0.0.1:2"), std::string::npos);
  EXPECT_NE(run({"train", "--data", "glyphs", "--run-dir", (folder / "r").string()}).err.find("127.0.0.1:1"),
            std::string::npos);
  EXPECT_EQ(json::parse(run({"data", "list", "--json"}).out)["folder"], (folder / "own").string());
  EXPECT_EQ(json::parse(run({"data", "list", "--json", "--data-dir", "/else"}).out)["folder"], "/else");
}

TEST_F(Configuration, DoesNotStandInTheWayOfLocalClusters) {
  write("coordinator: 127.0.0.1:1\n");
  const Finished trained = run({"train", "--model", "mlp", "--data", "glyphs", "--limit", "500", "--local", "1",
                                "--run-dir", (folder / "r").string(), "--quiet"});
  EXPECT_EQ(trained.status, 0) << trained.err;
}

TEST_F(Configuration, MistakesInItAreNamed) {
  write("# mine\ncoordinater: 127.0.0.1:1\n");
  const Finished nodes = run({"nodes"});
  EXPECT_EQ(nodes.status, 2);
  EXPECT_NE(nodes.err.find("config.yaml:2: unknown key 'coordinater'; did you mean 'coordinator'?"), std::string::npos)
      << nodes.err;
  EXPECT_EQ(run({"nodes", "--help"}).status, 0) << "help is there all the same";
  const Finished doctor = run({"doctor", "--json"});
  EXPECT_EQ(doctor.status, 1);
  EXPECT_FALSE(json::parse(doctor.out)["ok"]);
}

TEST_F(Configuration, DoctorSaysWhatThisMachineCanDo) {
  const Finished run_json = run({"doctor", "--json"});
  const json object = json::parse(run_json.out);
  ASSERT_TRUE(object["findings"].is_array());
  EXPECT_EQ(run_json.status, object["ok"] ? 0 : 1);
  std::string groups;
  for (const json& finding : object["findings"]) {
    EXPECT_NE(finding["found"], "") << finding;
    if (finding["state"] != "good") {
      EXPECT_NE(finding["advice"], "") << finding;
    }
    groups += finding["group"].get<std::string>() + "/" + finding["name"].get<std::string>() + " ";
  }
  for (const char* part : {"processor/kernels", "processor/cores", "memory/limit", "data/data sets", "network/ports",
                           "testbed/root", "configuration/file", "clock/time"})
    EXPECT_NE(groups.find(part), std::string::npos) << part << " in " << groups;
  EXPECT_EQ(run_json.err.find('{'), std::string::npos) << "the text";
}

TEST_F(Configuration, DoctorEndsWithOneWhereTheCoordinatorOfTheConfigurationIsGone) {
  write("coordinator: 127.0.0.1:1\n");
  const Finished doctor = run({"doctor"});
  EXPECT_EQ(doctor.status, 1);
  EXPECT_NE(doctor.out.find("broken   coordinator"), std::string::npos) << doctor.out;
  EXPECT_NE(doctor.out.find("config.yaml"), std::string::npos) << "where to change it";
}

}  // namespace
}  // namespace mangrove
