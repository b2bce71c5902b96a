// The jobs that the README shows, whole, on a few thousand glyphs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

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

constexpr Seconds kMainJobLong = 200;

void expect_keys(const json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) EXPECT_TRUE(object.contains(key)) << key;
}

Finished run_example(const std::string& example, const fs::path& folder, std::vector<std::string> more) {
  std::vector<std::string> arguments = {program(), "run", testing::repository_path("examples/" + example), "--data",
                                        "glyphs"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments, kMainJobLong, {"HOME=" + folder.string()});
}

struct MainJob : ::testing::Test {
  TemporaryFolder folder;
  std::string run_dir = folder / "run";
};

TEST_F(MainJob, TrainsEvaluatesAndServesWithEveryPromisedKey) {
  const Finished run =
      run_example("lenet-mnist.yaml", folder.path(), {"--limit", "6000", "--json", "--run-dir", run_dir});
  ASSERT_EQ(run.status, 0) << run.err;
  const json result = json::parse(run.out);
  const json &train = result["train"], &infer = result["infer"];
  expect_keys(train, {"accuracy", "macro_f1", "epochs", "train_seconds", "images_per_s", "advice", "nodes", "events"});
  ASSERT_EQ(train["nodes"].size(), 4u);
  for (const json& node : train["nodes"]) {
    expect_keys(node, {"name", "cpu_percent", "rss_bytes", "sent_bytes", "received_bytes"});
    EXPECT_GT(node["received_bytes"], 24 * 4 * 431080) << "the parameters, once a step";
    EXPECT_GT(node["rss_bytes"], 10'000'000);
  }
  EXPECT_EQ(train["samples"], 6000);
  EXPECT_GT(train["accuracy"], 0.5);
  expect_keys(infer, {"images", "accuracy", "images_per_s", "single_images_per_s", "agreement", "lost", "duplicated",
                      "latency", "devices"});
  ASSERT_EQ(infer["stages"].size(), 3u);
  for (const json& stage : infer["stages"])
    expect_keys(stage, {"node", "operators", "seconds", "busy_s", "predicted_busy_s", "utilisation", "queue_mean",
                        "sent_bytes"});
  EXPECT_EQ(infer["images"], 6000);
  EXPECT_EQ(infer["agreement"], 1.0);
  EXPECT_EQ(infer["accuracy"], train["accuracy"]) << "the same network on the same images";
  EXPECT_EQ(json::parse(*read_file(fs::path(run_dir) / "summary.json")), result);
  std::istringstream metrics(*read_file(fs::path(run_dir) / "metrics.jsonl"));
  std::size_t lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) EXPECT_TRUE(json::parse(line).contains("kind")) << line;
  EXPECT_GT(lines, 3u);

  const Finished again =
      run_example("infer-pipeline.yaml", folder.path(),
                  {"--limit", "1000", "--json", "--model", run_dir + "/model.onnx", "--run-dir", run_dir + "2"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["infer"]["agreement"], 1.0);
}

TEST_F(MainJob, AnswersOnEveryTier) {
  const Finished run = run_program({program(), "infer", "--tiers", testing::repository_path("tests/data/tiers.yaml"),
                                    "--data", "glyphs", "--limit", "1000", "--json", "--run-dir", run_dir},
                                   kMainJobLong, {"HOME=" + folder.path().string()});
  ASSERT_EQ(run.status, 0) << run.err;
  const json result = json::parse(run.out);
  expect_keys(result, {"scheduler", "policy", "accuracy", "coarse_accuracy", "predicted_seconds", "image_s", "events"});
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
  EXPECT_EQ(result["devices"].size(), 7u);
  ASSERT_EQ(result["tiers"].size(), 3u);
  EXPECT_EQ(result["tiers"][0]["images"], 1000);
  EXPECT_EQ(result["tiers"][1]["images"].get<int>() + result["tiers"][2]["images"].get<int>(), 1000);
  std::istringstream metrics(*read_file(fs::path(run_dir) / "metrics.jsonl"));
  std::size_t answers = 0;
  for (std::string line; std::getline(metrics, line);) answers += json::parse(line)["kind"] == "tier_answers" ? 1 : 0;
  EXPECT_EQ(answers, 2u * 20);
}

TEST_F(MainJob, AnswersOnThreeLevels) {
  const struct {
    const char* thresholds;
    std::size_t exit;  // that all leave at
  } cases[] = {{"1,1", 0}, {"0,1", 1}, {"0,0", 2}};
  for (const auto& [thresholds, exit] : cases) {
    const Finished run =
        run_program({program(), "infer", "--tiers", testing::repository_path("tests/data/tiers-exits.yaml"), "--data",
                     "glyphs", "--limit", "200", "--scheduler", "end-edge", "--exit-thresholds", thresholds, "--json",
                     "--run-dir", run_dir + thresholds},
                    kMainJobLong, {"HOME=" + folder.path().string()});
    ASSERT_EQ(run.status, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["lost"], 0);
    EXPECT_EQ(result["duplicated"], 0);
    ASSERT_EQ(result["exits"].size(), 3u);
    EXPECT_EQ(result["exits"][exit]["images"], 200) << thresholds;
    ASSERT_EQ(result["sent_up"].size(), 2u);
    for (std::size_t link = 0; link < 2; ++link)
      EXPECT_EQ(result["sent_up"][link]["bytes"] > 0, exit > link) << thresholds << ", link " << link;
  }
}

TEST_F(MainJob, TrainsAPipelineOverNodes) {
  for (const char* strategy : {"one_f_one_b", "pipedream"}) {
    const Finished run = run_program(
        {program(), "train", "--model", "lenet", "--data", "glyphs", "--limit", "1500", "--local", "3", "--strategy",
         strategy, "--stages", "3", "--batch", "30", "--json", "--run-dir", run_dir + strategy},
        kMainJobLong, {"HOME=" + folder.path().string()});
    ASSERT_EQ(run.status, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["samples"], 1500);
    EXPECT_GT(result["accuracy"], 0.5);
    ASSERT_EQ(result["stages"].size(), 3u);
    for (const json& stage : result["stages"])
      expect_keys(stage, {"node", "operators", "parameters", "forward_s", "backward_s", "busy_s", "predicted_busy_s",
                          "idle", "predicted_idle", "in_flight", "staleness"});
    ASSERT_EQ(result["memory"].size(), 3u);
    for (const json& memory : result["memory"]) EXPECT_GT(memory["measured_peak"], 0);
  }
}

TEST_F(MainJob, EvalAgreesWithWhatTrainingSays) {
  const Finished train = run_program(
      {program(), "train", "--model", "mlp", "--data", "glyphs", "--limit", "4000", "--json", "--run-dir", run_dir},
      kMainJobLong);
  ASSERT_EQ(train.status, 0) << train.err;
  const Finished all =
      run_program({program(), "eval", "--model", run_dir + "/model.onnx", "--data", "glyphs", "--json"}, kMainJobLong);
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_EQ(json::parse(all.out)["images"], 10000);
  EXPECT_NEAR(json::parse(all.out)["accuracy"].get<double>(), json::parse(train.out)["accuracy"].get<double>(), 0.03);
}

TEST_F(MainJob, ADivergingTrainingIsOneError) {
  const Finished run = run_program({program(), "train", "--data", "glyphs", "--limit", "1280", "--learning-rate", "1e6",
                                    "--schedule", "constant", "--run-dir", run_dir},
                                   kMainJobLong);
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("training diverged at step"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(fs::path(run_dir) / "model.onnx"));
}

TEST_F(MainJob, ARefusedResumeLeavesTheRunResumable) {
  const std::vector<std::string> first = {program(), "train",   "--model", "mlp",       "--data",
                                          "glyphs",  "--limit", "2000",    "--run-dir", run_dir};
  ASSERT_EQ(run_program(first, kMainJobLong).status, 0);
  const Finished refused = run_program({program(), "train", "--resume", run_dir, "--epochs", "5"}, kMainJobLong);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("epochs"), std::string::npos) << refused.err;
  const Finished resumed = run_program({program(), "train", "--resume", run_dir, "--json"}, kMainJobLong);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(json::parse(resumed.out)["samples"], 2000);
}

}  // namespace
}  // namespace mangrove
