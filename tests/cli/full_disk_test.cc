// Runs whose folder is deleted or whose disk is full: what has been learnt is not lost, and it is said in time.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tests/base/small_disk.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"
#include "tests/cli/separate_processes.h"

#include "mangrove/base/file.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Process;
using testing::program;
using testing::SmallDisk;
using testing::TemporaryFolder;

constexpr Seconds kFullDiskLong = 120;

std::size_t count_of(const std::string& word, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// A LeNet has a model of 1.7 MB, and a checkpoint of 3.4 MB.
struct FullDisk : ::testing::Test {
  std::unique_ptr<Process> train(const fs::path& run, const std::string& limit) {
    return std::make_unique<Process>(
        std::vector<std::string>{program(), "train", "--model", "lenet", "--data", "glyphs", "--limit", limit,
                                 "--epochs", "3", "--local", "1", "--checkpoint-every", "1s", "--validation", "0",
                                 "--json", "--run-dir", run.string()},
        std::vector<std::string>{"HOME=" + home.path().string()});
  }

  TemporaryFolder home;
};

TEST_F(FullDisk, ARunWhoseCheckpointsDoNotFitSaysSoOnceAndLeavesItsModel) {
  const SmallDisk disk(3'000'000);
  if (!disk.is_there()) GTEST_SKIP() << "only root may make a small disk";
  const auto client = train(disk / "run", "3000");
  EXPECT_EQ(client->wait(kFullDiskLong), 0) << client->err();
  EXPECT_EQ(count_of("the run goes on, and tries to write again", client->err()), 2u)
      << "when it happens, and in the summary: " << client->err();
  EXPECT_LT(client->err().find("checkpoint.safetensors: cannot write"), client->err().find("epoch 3")) << client->err();
  const json result = json::parse(client->out());
  EXPECT_EQ(result["epochs"], 3);
  EXPECT_EQ(result["events"].back()["event"], "not_written");
  EXPECT_FALSE(result.contains("not_written")) << "nothing is missing at the end";
  EXPECT_GT(fs::file_size(disk / "run/model.onnx"), 1'000'000u);
  EXPECT_TRUE(fs::exists(disk / "run/summary.json"));
}

TEST_F(FullDisk, ARunWhoseModelDoesNotFitPrintsItsResultBeforeItFails) {
  const SmallDisk disk(1'000'000);
  if (!disk.is_there()) GTEST_SKIP() << "only root may make a small disk";
  const auto client = train(disk / "run", "1000");
  EXPECT_EQ(client->wait(kFullDiskLong), 1) << client->err();
  const json result = json::parse(client->out());
  EXPECT_TRUE(result.contains("accuracy"));
  EXPECT_TRUE(result["not_written"].contains("model.onnx")) << result["not_written"];
  EXPECT_NE(client->err().find("mangrove: model.onnx is not in the run folder"), std::string::npos) << client->err();
}

TEST_F(FullDisk, AHeadThatDoesNotFitIsFineTunedAllTheSame) {
  const SmallDisk disk(400'000);
  if (!disk.is_there()) GTEST_SKIP() << "only root may make a small disk";
  Process client(
      {program(), "train", "--init-from", "mobilenetv2-0.25", "--freeze", "backbone", "--data", "leaves", "--limit",
       "64", "--batch", "16", "--epochs", "2", "--head-epochs", "1", "--json", "--run-dir", (disk / "run").string()},
      {"HOME=" + home.path().string()});
  EXPECT_EQ(client.wait(kFullDiskLong), 1) << client.err();
  EXPECT_LT(client.err().find("the run goes on, and tries to write again"), client.err().find("epoch 2"))
      << client.err();
  const json result = json::parse(client.out());
  EXPECT_EQ(result["epochs"], 2);
  EXPECT_EQ(result["head"]["epochs"], 1);
  for (const char* file : {"head-model.onnx", "model.onnx"})
    EXPECT_TRUE(result["not_written"].contains(file)) << result["not_written"];
}

TEST_F(FullDisk, ARunWhoseFolderIsDeletedLeavesEverythingInANewOne) {
  const fs::path run = home / "run";
  const auto client = train(run, "10000");
  ASSERT_TRUE(client->wait_until([&] { return fs::exists(run / "checkpoint.safetensors"); }, kFullDiskLong))
      << client->err();
  std::error_code busy;  // the run writes meanwhile
  do fs::remove_all(run, busy);
  while (busy);
  EXPECT_EQ(client->wait(kFullDiskLong), 0) << client->err();
  EXPECT_EQ(json::parse(client->out())["epochs"], 3);
  for (const char* file : {"model.onnx", "summary.json", "report.html", "metrics.jsonl", "job.yaml"})
    EXPECT_TRUE(fs::exists(run / file)) << file;
}

}  // namespace
}  // namespace mangrove
