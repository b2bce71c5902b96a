#include "mangrove/cli/help.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "tests/base/temporary_folder.h"
#include "tests/job/sample_job.pb.h"

#include "mangrove/base/config_file.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/usage.h"
#include "mangrove/job/keys.h"

namespace mangrove::cli {
namespace {

/// What a command line prints or says.
class Help : public ::testing::Test {
 protected:
  Help() {
    app.formatter(std::make_shared<HelpFormatter>());
    add_commands(app, context);
  }

  std::string page(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants it
    std::ostringstream out;
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) return error.what();
      app.exit(error, out, out);
    }
    return out.str();
  }

  CLI::App app{"", "mangrove"};
  CommandContext context;
};

void expect_plain_page(const CLI::App& command) {
  const std::string page = command.help(command_path(command));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_NE(page.find("Examples:\n  "), std::string::npos) << page;
  for (const CLI::Option* option : command.get_options()) {
    EXPECT_FALSE(option->get_description().empty()) << command_path(command) << " " << option->get_name();
    EXPECT_EQ(option->get_description().find('{'), std::string::npos)
        << "no table has filled it: " << option->get_name();
    const bool shows_its_check =
        option->get_type_name().find(':') != std::string::npos && option->get_type_name() != "HOST:PORT";
    EXPECT_FALSE(shows_its_check) << command_path(command) << " " << option->get_name() << option->get_type_name();
  }
  for (const CLI::App* below : commands_below(command)) expect_plain_page(*below);
}

TEST_F(Help, OfEveryCommandFitsATerminalOf80Columns) {
  expect_plain_page(app);
}

/// In how many places. range: the end of the range in descriptions.
int expect_range(const CLI::App& command, const std::string& flag, const std::string& range) {
  int found = 0;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->check_lname(flag)) continue;
    ++found;
    EXPECT_NE(option->get_description().find(range), std::string::npos)
        << command_path(command) << " --" << flag << ": " << option->get_description();
  }
  for (const CLI::App* below : commands_below(command)) found += expect_range(*below, flag, range);
  return found;
}

TEST_F(Help, AFlagTakesTheSameInEveryCommand) {
  EXPECT_GE(expect_range(app, "batch", " to 1,048,576"), 8);
  EXPECT_GE(expect_range(app, "replicas", " to 10,000"), 2);
  EXPECT_GE(expect_range(app, "limit", " or more"), 4);
  EXPECT_GE(expect_range(app, "threads", " to 1,024"), 10);
}

TEST_F(Help, GroupsFlagsAndSaysWhatTheyTake) {
  const std::string text = page({"train", "--help"});
  std::size_t at = 0;
  for (const char* group :
       {"\nModel:\n", "\nData:\n", "\nCluster:\n", "\nStrategy:\n", "\nLearning:\n", "\nOutput:\n"}) {
    const std::size_t found = text.find(group);
    ASSERT_NE(found, std::string::npos) << group << text;
    EXPECT_GT(found, at) << group;
    at = found;
  }
  EXPECT_NE(text.find("  --batch N               samples of each worker in a step"), std::string::npos) << text;
  EXPECT_NE(text.find("(1 to 1,048,576;"), std::string::npos) << text;
  EXPECT_NE(text.find("  --step-timeout TIME"), std::string::npos) << text;
}

TEST_F(Help, NamesFlagsOfSomeStrategiesAndExplainsThemOnDemand) {
  const std::string general = page({"train", "--help"});
  EXPECT_EQ(general.find("  --client-fraction NUMBER"), std::string::npos) << general;
  EXPECT_NE(general.find("  federated "), std::string::npos) << general;
  EXPECT_NE(general.find("--client-fraction"), std::string::npos) << general;
  app.clear();
  const std::string federated = page({"train", "--help", "federated"});
  EXPECT_NE(federated.find("federated: workers make steps of their own"), std::string::npos) << federated;
  EXPECT_NE(federated.find("  --client-fraction NUMBER"), std::string::npos) << federated;
  EXPECT_EQ(federated.find("--topology"), std::string::npos) << federated;
  EXPECT_EQ(federated.find("--epochs"), std::string::npos) << federated;
}

TEST_F(Help, OfASimulationHasTheStrategiesOfBothKindsOfJobs) {
  const std::string general = page({"sim", "--help"});
  for (const char* group : {"\nSimulation:\n", "\nModel:\n", "\nData:\n", "\nStrategy:\n", "\nLearning:\n"})
    EXPECT_NE(general.find(group), std::string::npos) << group << general;
  for (const char* strategy : {"\n  federated ", "\n  tiers "})
    EXPECT_NE(general.find(strategy), std::string::npos) << strategy << general;
  EXPECT_NE(general.find("  --epochs N "), std::string::npos) << general;
  EXPECT_EQ(general.find("  --client-fraction NUMBER"), std::string::npos) << general;
  EXPECT_EQ(general.find("--coordinator"), std::string::npos) << "nothing runs on a cluster\n" << general;
  app.clear();
  EXPECT_NE(page({"sim", "--help", "federated"}).find("  --client-fraction NUMBER"), std::string::npos);
  app.clear();
  const std::string tiers = page({"sim", "--help", "tiers"});
  EXPECT_NE(tiers.find("  --scheduler "), std::string::npos) << tiers;
  app.clear();
  EXPECT_EQ(page({"sim", "world.yaml"}), "job is required");
  EXPECT_NE(tiers.find("sim world job --strategy tiers [OPTIONS]"), std::string::npos) << tiers;
}

TEST_F(Help, OfAnUnknownStrategyNamesTheNearest) {
  EXPECT_NE(page({"infer", "--help", "vews"}).find("unknown strategy 'vews'; did you mean 'views'?"),
            std::string::npos);
}

/// Adding a key is adding a field with a description (tests/job/sample_job.proto): the rest follows.
TEST(AddedKey, IsAFlagALineOfAJobFileCheckedComparedAndExplained) {
  job::SampleJob job;
  Keys keys;
  job::add_keys(job, {}, keys);
  Overrides overrides;
  CLI::App app("", "sample");
  add_strategy_help(app, {keys}, {{"slow", "goes slowly", "it waits"}, {"fast", "goes fast", "it goes on"}});
  add_flags(app, keys, overrides);

  app.parse("--dampening 0.5");
  ASSERT_TRUE(apply_overrides(overrides, keys).ok());
  EXPECT_EQ(job.dampening(), 0.5f);
  overrides = {{"dampening", "7"}};
  EXPECT_EQ(apply_overrides(overrides, keys).error().message, "--dampening: '7' is not a number from 0.1 to 1");

  const testing::TemporaryFolder folder;
  const std::string yaml = to_yaml("train", keys);
  EXPECT_NE(yaml.find("  dampening: 0.5\n"), std::string::npos) << yaml;
  ASSERT_TRUE(write_file_atomically(folder / "job.yaml", "train:\n  dampening: 0.75\n").ok());
  const auto file = ConfigFile::load(folder / "job.yaml", {"job file", {"train"}, "train"});
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->apply(file->sections().front(), keys).ok());
  EXPECT_EQ(job.dampening(), 0.75f);

  EXPECT_NE(job::fingerprint(job, {"slow"}).find("dampening=0.75\n"), std::string::npos);
  EXPECT_EQ(job::fingerprint(job, {"fast"}).find("dampening"), std::string::npos);
  EXPECT_NE(app.help().find("  slow                    --dampening"), std::string::npos) << app.help();
  job.set_dampening(-1);
  EXPECT_EQ(job::check_keys(job).error().message, "dampening: '-1' is not a number from 0.1 to 1");
}

}  // namespace
}  // namespace mangrove::cli
