#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"

namespace mangrove::testing {
namespace {

using nlohmann::json;

const std::string kWorlds = std::string(MANGROVE_EXAMPLES) + "/worlds/";

Finished simulate(const fs::path& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      program(), "sim",       kWorlds + "boards.yaml", kWorlds + "job.yaml", "--limit", "256", "--quiet",
      "--json",  "--run-dir", folder.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(std::move(arguments));
}

TEST(SimCommand, LeavesTheSameFilesEachTime) {
  const TemporaryFolder folder;
  const std::vector<std::string> faults = {"--faults",  kWorlds + "faults.yaml", "--fault-seed", "3", "--strategy",
                                           "all_reduce"};
  const Finished first = simulate(folder / "a", faults), second = simulate(folder / "b", faults);
  ASSERT_EQ(first.status, 0) << first.err;
  ASSERT_EQ(second.status, 0) << second.err;
  for (const char* name : {"events.jsonl", "metrics.jsonl", "model.onnx"}) {
    const auto a = read_file(folder / "a" / name), b = read_file(folder / "b" / name);
    ASSERT_TRUE(a.ok() && b.ok()) << name;
    EXPECT_FALSE(a->empty()) << name;
    EXPECT_TRUE(*a == *b) << name << " differs";
  }
  EXPECT_TRUE(fs::exists(folder / "a" / "report.html"));
  const json result = json::parse(first.out);
  EXPECT_EQ(result["devices"], 4);
  EXPECT_EQ(result["samples"], 256);
  EXPECT_GT(result["train_seconds"], 0);
  const Finished other = simulate(folder / "c", {"--seed", "2"});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_FALSE(*read_file(folder / "a" / "events.jsonl") == *read_file(folder / "c" / "events.jsonl"));
}

TEST(SimCommand, SaysWhatIsWrongWithItsFiles) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& world, const std::string& job, const std::string& faults) {
    for (const auto& [name, text] : {std::pair("world", world), {"job", job}, {"faults", faults}})
      EXPECT_TRUE(write_file_atomically(folder / (std::string(name) + ".yaml"), text).ok());
    const Finished run = run_program({program(), "sim", (folder / "world.yaml").string(),
                                      (folder / "job.yaml").string(), "--faults", (folder / "faults.yaml").string()});
    EXPECT_EQ(run.status, 2);
    return run.err;
  };
  const std::string job = "train:\n  data: glyphs\n";
  EXPECT_NE(error_of("pi:\n  cpu: 1\n", job, "").find("world.yaml:2: unknown key 'cpu'"), std::string::npos);
  EXPECT_NE(error_of("pi:\n", job + "  freeze: backbone\n", "").find("freeze: the time that a frozen part takes"),
            std::string::npos);
  EXPECT_NE(error_of("pi:\n", "infer:\n  stages: 2\n", "").find("no section 'train'"), std::string::npos);
  EXPECT_NE(error_of("pi:\n", job, "a:\n  devices: pi-2\n").find("faults.yaml:1: key 'devices'"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "runs"));
}

}  // namespace
}  // namespace mangrove::testing
