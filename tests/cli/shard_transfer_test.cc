#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/cli/separate_processes.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;

/// A coordinator that has a packed data set, and two nodes with data folders of their own that are empty.
struct ShardTransfer : testing::SeparateProcesses {
  void SetUp() override {
    fs::create_directories(folder / "coordinator");
    const std::string images = (folder / "images").string();
    finish({"data", "make", "images", "--to", images, "--limit", "120"});
    finish(
        {"data", "pack", "folder:" + images, "--out", folder / "coordinator/digits-in-shards", "--shard-size", "10kB"});
    start_coordinator("127.0.0.1:0", {"--data-dir", folder / "coordinator"});
    for (const char* name : {"a", "b"}) {
      nodes.push_back(std::make_unique<Process>(
          std::vector<std::string>{program(), "node", "--coordinator", address, "--listen", "127.0.0.1:0", "--name",
                                   name, "--threads", "1", "--data-dir", folder / name}));
      ASSERT_NE(ready_line(*nodes.back()), "");
    }
  }
  static json finish(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program());
    arguments.push_back("--json");
    const Finished run = run_program(arguments, 120);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  }
  json train(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"train",   "--model",   "mlp",          "--data",     "shards:digits-in-shards",
                                       "--split", "shards",    "--shuffle",    "window(20)", "--batch",
                                       "8",       "--run-dir", folder / "run", "--data-dir", folder / "coordinator"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return finish(arguments);
  }
  json train_from_cluster() const {
    return train({"--coordinator", address, "--nodes", "2", "--data-from", "cluster"});
  }
  static bool says(const json& result, const std::string& event) {
    for (const json& one : result["events"])
      if (one["event"] == event) return true;
    return false;
  }

  const testing::TemporaryFolder folder;
  std::vector<std::unique_ptr<Process>> nodes;
};

TEST_F(ShardTransfer, NodesWithoutDataTrainTheSameNetworkAndKeepTheirShards) {
  const json own = train({"--local", "2"}), first = train_from_cluster();
  EXPECT_EQ(first["test_loss"], own["test_loss"]);
  EXPECT_EQ(first["loss"], own["loss"]);
  EXPECT_TRUE(says(first, "data_is_there")) << first["events"];
  for (const char* name : {"a", "b"}) {
    std::size_t kept = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder / name)) {
      if (!entry.is_regular_file()) continue;
      ++kept;
      EXPECT_EQ(testing::text_of(entry.path()),
                testing::text_of(folder / "coordinator/digits-in-shards" / entry.path().filename()));
    }
    EXPECT_GE(kept, 3u);
  }
  const json second = train_from_cluster();
  EXPECT_EQ(second["test_loss"], first["test_loss"]);
  EXPECT_FALSE(says(second, "data_is_there")) << "nothing had to come";
}

TEST_F(ShardTransfer, ADataSetThatTheCoordinatorDoesNotHaveIsNamed) {
  fs::rename(folder / "coordinator", folder / "elsewhere");
  std::vector<std::string> arguments{program(),       "train",
                                     "--model",       "mlp",
                                     "--data",        "shards:digits-in-shards",
                                     "--data-from",   "cluster",
                                     "--coordinator", address,
                                     "--run-dir",     folder / "run",
                                     "--data-dir",    folder / "elsewhere"};
  const Finished run = run_program(arguments, 60);
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.err.find("data_from: cluster: the coordinator: " + (folder / "coordinator/digits-in-shards").string()),
            std::string::npos)
      << run.err;
}

}  // namespace
}  // namespace mangrove
