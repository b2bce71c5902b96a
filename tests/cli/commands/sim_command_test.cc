#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"

namespace mangrove::testing {
namespace {

using nlohmann::json;

const std::string kWorlds = testing::repository_path("examples/worlds/");

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

TEST(SimCommand, ClassifiesOnTheDevicesOfAWorld) {
  const TemporaryFolder folder;
  const Finished trained = simulate(folder / "trained");
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto classify = [&](const std::string& to, std::vector<std::string> more) {
    std::vector<std::string> arguments = {program(),
                                          "sim",
                                          kWorlds + "boards.yaml",
                                          kWorlds + "infer-job.yaml",
                                          "--model",
                                          folder / "trained/model.onnx",
                                          "--json",
                                          "--quiet",
                                          "--run-dir",
                                          folder / to};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(std::move(arguments));
  };
  const fs::path data = folder / "data";
  const std::vector<std::string> faults = {"--fault-seed", "3", "--fault-window", "1s", "--data-dir", data};
  const Finished first = classify("a", faults);
  ASSERT_EQ(first.status, 0) << first.err;
  const json result = json::parse(first.out);
  EXPECT_EQ(result["images"], 1024);
  EXPECT_EQ(result["agreement"], 1);
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
  EXPECT_EQ(result["devices"].size(), 4u);
  EXPECT_TRUE(fs::exists(folder / "a" / "report.html"));
  EXPECT_FALSE(fs::exists(data / "networks")) << "simulated devices keep nothing on this computer";
  const Finished second = classify("b", faults);
  EXPECT_TRUE(*read_file(folder / "a" / "events.jsonl") == *read_file(folder / "b" / "events.jsonl"));
  const Finished refused = classify("c", {"--epochs", "2"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--epochs: is no key of the section 'infer'"), std::string::npos) << refused.err;
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
  EXPECT_NE(error_of("pi:\n", "eval:\n  data: glyphs\n", "").find("no section 'train' or 'infer'"), std::string::npos);
  EXPECT_NE(error_of("pi:\n", "infer:\n  input: photos\n", "").find("input: nobody pushes images"), std::string::npos);
  EXPECT_NE(error_of("pi:\n", job, "a:\n  devices: pi-2\n").find("faults.yaml:1: key 'devices'"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "runs"));
}

}  // namespace
}  // namespace mangrove::testing
