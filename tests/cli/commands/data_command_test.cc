#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/process.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

/// The JSON object that a command prints.
json data_result_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  arguments.push_back("--json");
  const Finished run = run_program(arguments, 120);
  EXPECT_EQ(run.status, 0) << run.err;
  return json::parse(run.out, nullptr, /*allow_exceptions=*/false);
}

TEST(DataCommand, ListNamesDataSetsKindsOfFilesAndTransformations) {
  const TemporaryFolder folder;
  const json list = data_result_of({"data", "list", "--data-dir", folder.path().string()});
  bool cifar = false, csv = false;
  for (const json& set : list["data_sets"]) cifar = cifar || (set["name"] == "cifar10" && set["present"] == false);
  for (const json& kind : list["kinds"]) csv = csv || kind["name"] == "csv";
  EXPECT_TRUE(cifar && csv) << list;
  EXPECT_GE(list["transformations"].size(), 12u);
  EXPECT_GE(list["recipes"].size(), 3u);
}

TEST(DataCommand, MadeImagesAreWhatInfoDescribes) {
  const TemporaryFolder folder;
  const json made = data_result_of(
      {"data", "make", "images", "--to", (folder / "digits").string(), "--limit", "60", "--shard", "2/3"});
  EXPECT_EQ(made["images"], (json{{"train", 20}, {"test", 20}}));
  const json info = data_result_of({"data", "info", made["use"]});
  EXPECT_EQ(info["sample_shape"], (json{1, 28, 28}));
  EXPECT_EQ(info["splits"]["train"]["samples"], 20);
  EXPECT_EQ(info["splits"]["test"]["samples"], 20);
  EXPECT_FALSE(info["splits"].contains("validation"));
}

TEST(DataCommand, NetworkTrainsOnMadeSensorsAndIsEvaluatedOnThemAlike) {
  const TemporaryFolder folder;
  const json made = data_result_of({"data", "make", "sensors", "--to", (folder / "motion.csv").string()});
  const std::string data = made["use"], runs = (folder / "run").string();
  const json trained = data_result_of({"train", "--model", "mlp", "--data", data, "--augment", "normalise,mixup:0.2",
                                       "--epochs", "2", "--batch", "16", "--run-dir", runs, "--quiet"});
  const json evaluated = data_result_of({"eval", "--model", runs + "/model.onnx", "--data", data});
  EXPECT_EQ(evaluated["images"], 40);
  EXPECT_EQ(evaluated["accuracy"], trained["accuracy"]) << "both normalise";
}

TEST(DataCommand, APackedDataSetIsTheSame) {
  const TemporaryFolder folder;
  const std::string images = "folder:" + (folder / "digits").string(), shards = (folder / "shards").string();
  EXPECT_EQ(data_result_of({"data", "make", "images", "--to", (folder / "digits").string(), "--limit", "60"})["images"],
            (json{{"train", 60}, {"test", 60}}));
  const json packed =
      data_result_of({"data", "pack", images, "--out", shards, "--shard-size", "10kB", "--compress", "zstd"});
  EXPECT_EQ(packed["splits"]["train"]["samples"], 60);
  EXPECT_GT(packed["splits"]["train"]["shards"], 1);
  EXPECT_LT(packed["splits"]["train"]["bytes"], 60 * 784);
  EXPECT_EQ(packed["use"], "shards:" + shards);
  const json before = data_result_of({"data", "info", images}), after = data_result_of({"data", "info", shards});
  for (const char* key : {"sample_shape", "classes", "splits", "mean", "deviation"})
    EXPECT_EQ(after[key], before[key]) << key;
  const auto loss_on = [&](const std::string& data) {
    return data_result_of({"train", "--model", "mlp", "--data", data, "--batch", "16", "--run-dir", folder / "run",
                           "--sample-cache", "10kB"})["test_loss"];
  };
  EXPECT_EQ(loss_on(images), loss_on(shards));
}

TEST(DataCommand, InfoWritesNumbersForPeople) {
  const Finished run = run_program({program(), "data", "info", "glyphs"}, 120);
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* number : {" 60,000", " 10,000", " 6,000", " 1,000"})
    EXPECT_NE(run.out.find(number), std::string::npos) << run.out;
}

TEST(DataCommand, SaysWhatIsWrong) {
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
  };
  const Case cases[] = {
      {{"data", "info", "cifar1"}, "did you mean 'cifar10'?"},
      {{"data", "info", "mnist,size=3"}, "unknown option 'size'"},
      {{"data", "info", "folder:/nowhere"}, "no folder '/nowhere'"},
      {{"data", "fetch", "cifar10-jpeg", "--data-dir", "/nowhere"}, "cannot be downloaded"},
      {{"data", "make", "images", "--to", "/tmp/x", "--shard", "3/2"}, "is not PART/PARTS"},
      {{"data", "pack", "glyphs", "--out", "/tmp/x", "--shard-size", "big"}, "--shard-size"},
      {{"data", "pack", "glyphs", "--out", "/tmp/x", "--compress", "lz5"}, "--compress"},
  };
  for (const Case& test : cases) {
    std::vector<std::string> arguments = test.arguments;
    arguments.insert(arguments.begin(), program());
    const Finished run = run_program(arguments);
    EXPECT_NE(run.status, 0) << test.says;
    EXPECT_NE(run.err.find(test.says), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace mangrove
