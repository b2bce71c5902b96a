#include "mangrove/cli/run_folder.h"

#include <gtest/gtest.h>

#include "tests/base/small_disk.h"
#include "tests/base/temporary_folder.h"

namespace mangrove::cli {
namespace {

using testing::SmallDisk;
using testing::TemporaryFolder;

RunFolder created(const fs::path& path) {
  return RunFolder::create(path.string(), "train").value();
}

TEST(RunFolder, ThatWasDeletedIsMadeAgainWithItsSettings) {
  const TemporaryFolder folder;
  RunFolder run = created(folder / "run");
  ASSERT_TRUE(run.begin("train: {}\n").ok());
  ASSERT_TRUE(run.add_metrics("{\"n\":1}").ok());
  fs::remove_all(folder / "run");
  ASSERT_TRUE(run.add_metrics("{\"n\":2}").ok());
  ASSERT_TRUE(run.write("checkpoint.safetensors", "c").ok());
  EXPECT_EQ(*read_file(folder / "run/metrics.jsonl"), "{\"n\":2}\n");
  EXPECT_EQ(*read_file(folder / "run/job.yaml"), "train: {}\n");
  fs::remove_all(folder / "run");
  ASSERT_TRUE(run.write_model("", "model").ok());
  EXPECT_EQ(*read_file(folder / "run/model.onnx"), "model");
  EXPECT_TRUE(run.unsaved().empty());
}

TEST(RunFolder, HasAModelThatTheDiskDidNotTake) {
  const TemporaryFolder folder;
  RunFolder run = created(folder / "run");
  EXPECT_EQ(run.model("head-").code(), Code::not_found);
  fs::remove_all(folder / "run");
  ASSERT_TRUE(write_file_atomically(folder / "run", "a file in its place").ok());
  EXPECT_FALSE(run.write_model("head-", "model").ok());
  EXPECT_EQ(*run.model("head-"), "model");
  EXPECT_FALSE(run.model("").ok());
  fs::remove(folder / "run");
  ASSERT_TRUE(run.write_model("head-", "another").ok());
  EXPECT_EQ(*run.model("head-"), "another");
}

TEST(RunFolder, RemembersWhatCannotBeWrittenUntilItCan) {
  const TemporaryFolder folder;
  RunFolder run = created(folder / "run");
  fs::remove_all(folder / "run");
  ASSERT_TRUE(write_file_atomically(folder / "run", "a file in its place").ok());
  EXPECT_FALSE(run.write("summary.json", "{}").ok());
  EXPECT_FALSE(run.add_metrics("{}").ok());
  EXPECT_EQ(run.unsaved().size(), 2u);
  EXPECT_TRUE(run.unsaved().contains("summary.json"));
  EXPECT_NE(run.with_resume_hint(make_error(Code::cancelled, "stopped")).message.find("summary.json"),
            std::string::npos);
  fs::remove(folder / "run");
  EXPECT_TRUE(run.write("summary.json", "{}").ok());
  EXPECT_TRUE(run.add_metrics("{}").ok());
  EXPECT_TRUE(run.unsaved().empty());
}

TEST(RunFolder, OnAFullDiskTheCheckpointMakesRoomForTheModel) {
  const SmallDisk disk(1 << 20);
  if (!disk.is_there()) GTEST_SKIP() << "only root may make a small disk";
  RunFolder run = created(disk / "run");
  ASSERT_TRUE(run.write("checkpoint.safetensors", std::string(600'000, 'c')).ok());
  EXPECT_FALSE(run.write("checkpoint.safetensors", std::string(600'000, 'd')).ok()) << "both at once do not fit";
  EXPECT_EQ(read_file(run.checkpoint_path())->front(), 'c') << "the old one is as it was";
  EXPECT_TRUE(run.unsaved().contains("checkpoint.safetensors"));
  ASSERT_TRUE(run.write_model("", std::string(500'000, 'm')).ok());
  EXPECT_FALSE(fs::exists(run.checkpoint_path()));
  EXPECT_TRUE(run.unsaved().empty()) << "a run that has ended needs no checkpoint";
}

TEST(RunFolder, TheCheckpointStaysWhereItsRoomIsNotEnough) {
  const SmallDisk disk(1 << 20);
  if (!disk.is_there()) GTEST_SKIP() << "only root may make a small disk";
  RunFolder run = created(disk / "run");
  ASSERT_TRUE(run.write("checkpoint.safetensors", std::string(300'000, 'c')).ok());
  disk.fill(100'000);
  EXPECT_FALSE(run.write_model("", std::string(700'000, 'm')).ok());
  EXPECT_TRUE(fs::exists(run.checkpoint_path()));
  EXPECT_TRUE(run.unsaved().contains("model.onnx"));
}

}  // namespace
}  // namespace mangrove::cli
