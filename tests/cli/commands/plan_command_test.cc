#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/html_check.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"

namespace mangrove::testing {
namespace {

using nlohmann::json;

const std::string kDevices = testing::repository_path("examples/plan/");

Finished mangrove_plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  return run_program(std::move(arguments));
}

std::string plan_text(const fs::path& path) {
  const auto text = read_file(path);
  return text.ok() ? *text : text.error().message;
}

/// A profile of LeNet for inference, measured quickly.
std::string measured(const TemporaryFolder& folder) {
  const std::string path = folder / "lenet.yaml";
  const Finished run = mangrove_plan({"profile", "lenet", "--batch", "4", "--seconds", "0.05", "--data-dir",
                                      folder / "data", "--output", path, "--json"});
  EXPECT_EQ(run.status, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_FALSE(report["was_kept"]);
  EXPECT_EQ(report["batch"], 4);
  EXPECT_GT(report["forward_s"], 0);
  EXPECT_EQ(report["backward_s"], 0);
  EXPECT_GT(report["process"], 1'000'000);
  return path;
}

TEST(PlanCommand, PlansWhatProfileMeasuredOnEveryExample) {
  const TemporaryFolder folder;
  const std::string profile = measured(folder);
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(kDevices)) {
    ++seen;
    const Finished run = mangrove_plan({"plan", "--model", "lenet", "--profile", profile, "--devices",
                                        entry.path().string(), "--replicas", "1", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const json report = json::parse(run.out);
    EXPECT_EQ(report["model"], "lenet");
    EXPECT_EQ(report["batch"], 4);
    EXPECT_TRUE(report["proven_best"]);
    EXPECT_NEAR(report["samples_per_s"], 4 / report["period_s"].get<double>(), 1e-6);
    std::vector<std::string> layers;
    for (const json& stage : report["stages"])
      for (const json& layer : stage["layers"]) layers.push_back(layer);
    EXPECT_EQ(layers.front(), "conv1");
    EXPECT_EQ(layers.back(), "fc2");
    EXPECT_NE(run.err.find("Plan: lenet, micro-batches of 4"), std::string::npos) << run.err;
  }
  EXPECT_EQ(seen, 2);
}

TEST(ProfileCommand, MeasuresOnceOnADevice) {
  const TemporaryFolder folder;
  const std::string first = plan_text(measured(folder));
  EXPECT_NE(first.find("memory: "), std::string::npos) << first;
  const auto again = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"profile", "lenet",      "--batch",       "4",        "--seconds",
                                          "0.05",    "--data-dir", folder / "data", "--output", folder / "b.yaml",
                                          "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = mangrove_plan(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out);
  };
  const json second = again({});
  EXPECT_TRUE(second["was_kept"]);
  EXPECT_EQ(plan_text(folder / "b.yaml"), first);
  const std::string kept = second["kept_in"];
  EXPECT_EQ(fs::path(kept).parent_path(), fs::path(folder / "data") / "profiles");
  EXPECT_FALSE(again({"--fresh"})["was_kept"]);
  EXPECT_FALSE(again({"--threads", "2"})["was_kept"]);
  ASSERT_TRUE(write_file_atomically(kept, "profile:\n").ok());
  EXPECT_FALSE(again({})["was_kept"]) << "it was damaged";
  EXPECT_TRUE(again({})["was_kept"]);
}

TEST(PlanCommand, FollowsAnEditedProfileAndTheObjective) {
  const TemporaryFolder folder;
  const std::string profile = measured(folder);
  std::string text = plan_text(profile);
  const auto begin = text.find("forward: "), end = text.find('\n', begin);
  text.replace(begin, end - begin, "forward: 10s");  // of conv1
  ASSERT_TRUE(write_file_atomically(profile, text).ok());
  ASSERT_TRUE(
      write_file_atomically(folder / "d.yaml", "a:\n  count: 2\n  watts: 3\nslow:\n  speed: 0.5\n  watts: 1\n").ok());
  const auto plan = [&](const std::string& objective) {
    const Finished run = mangrove_plan({"plan", "--model", "lenet", "--profile", profile, "--devices",
                                        folder / "d.yaml", "--replicas", "1", "--objective", objective, "--json"});
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out);
  };
  const json throughput = plan("throughput");
  EXPECT_NEAR(throughput["period_s"], 10, 0.01);  // conv1 by itself, or with what takes no time beside it
  EXPECT_EQ(throughput["stages"][0]["devices"].size(), 1u);
  EXPECT_EQ(plan("latency")["stages"].size(), 1u);
  const json energy = plan("energy");
  EXPECT_EQ(energy["stages"][0]["devices"][0], "slow");  // twice as long at a third of the power
  EXPECT_NEAR(energy["joules_per_sample"], 2 * 10 * 1 / 4.0, 0.1);
}

TEST(PlanCommand, PredictsOtherMicroBatchesAndOtherModels) {
  const TemporaryFolder folder;
  const std::string profile = measured(folder);
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan",  "--profile", profile, "--devices", kDevices + "boards.yaml",
                                          "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = mangrove_plan(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  };
  EXPECT_EQ(json::parse(plan({"--model", "lenet", "--batch", "32"}).out)["batch"], 32);
  const Finished other = plan({"--model", "mlp"});
  EXPECT_NE(other.err.find("operators are not in it; their times are predicted"), std::string::npos) << other.err;
}

TEST(PlanCommand, ReadsAProfileOfPipeDreams) {
  const TemporaryFolder folder;
  const std::string numbers = ", backward_compute_time=20.000, activation_size=1000.000, parameter_size=0.000\n";
  std::string graph = "node1 -- Input -- forward_compute_time=5.000" + numbers;
  for (int i = 2; i <= 5; ++i)
    graph += "node" + std::to_string(i) + " -- Conv2d(1) -- forward_compute_time=10.000" + numbers;
  for (int i = 1; i <= 4; ++i) graph += "\tnode" + std::to_string(i) + " -- node" + std::to_string(i + 1) + "\n";
  ASSERT_TRUE(write_file_atomically(folder / "g.graph.txt", graph).ok());
  ASSERT_TRUE(write_file_atomically(folder / "d.yaml", "gpu:\n  count: 2\n  rate: 8mbit\n").ok());
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "plan", "--profile", folder / "g.graph.txt", "--devices", folder / "d.yaml", "--replicas", "1", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = mangrove_plan(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out);
  };
  const json training = plan({"--train"});
  EXPECT_NEAR(training["period_s"], 0.06, 1e-9);  // two layers of 30 ms each
  EXPECT_EQ(training["stages"].size(), 2u);
  EXPECT_EQ(training["stages"][0]["sent_bytes"], 1000);
  EXPECT_NEAR(training["stages"][0]["transfer_s"], 0.002, 1e-9);  // 1 MB/s, forth and back
  EXPECT_NEAR(plan({})["period_s"], 0.02, 1e-9);
}

/// Tiles in a report.
std::size_t tiles_of(const json& report) {
  std::size_t count = 0;
  for (const json& team : report["teams"])
    for (const json& block : team["blocks"]) count += block["tiles"].size();
  return count;
}

std::size_t rectangles_of(const std::string& svg) {
  std::size_t count = 0;
  for (std::size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) ++count;
  return count;
}

TEST(PlanCommand, PlansTilesAndComparesThem) {
  const TemporaryFolder folder;
  const std::string profile = measured(folder);
  const std::string near = folder / "near.yaml";
  ASSERT_TRUE(write_file_atomically(near, "a:\n  count: 3\nb:\n  speed: 2\n").ok());
  for (const std::string& devices : {kDevices + "boards.yaml", near}) {
    for (const char* objective : {"latency", "throughput"}) {
      const std::string picture = folder / "plan.svg";
      const Finished run = mangrove_plan({"plan", "--model", "lenet", "--profile", profile, "--devices", devices,
                                          "--tiles", "--objective", objective, "--picture", picture, "--json"});
      ASSERT_EQ(run.status, 0) << run.err;
      const json report = json::parse(run.out);
      EXPECT_EQ(report["objective"], objective);
      EXPECT_EQ(report["batch"], 4);
      const json& comparison = report["comparison"];
      std::vector<std::string> names;
      for (const json& row : comparison) names.push_back(row["name"]);
      EXPECT_EQ(names, (std::vector<std::string>{"one board", "pipeline", "auto", "even_grid", "biased_strips"}));
      EXPECT_EQ(comparison[2]["latency_s"], report["latency_s"]);
      EXPECT_EQ(comparison[2]["why_it_lost"], "");
      if (report["objective"] == "latency") {
        EXPECT_LE(comparison[2]["latency_s"], comparison[0]["latency_s"]);
      }
      for (const json& team : report["teams"]) {
        EXPECT_EQ(team["blocks"].front()["first"], "conv1");
        EXPECT_EQ(team["blocks"].back()["last"], "fc2");
        EXPECT_FALSE(team["uses"].empty());
      }
      EXPECT_NE(run.err.find("Plan: lenet in tiles, micro-batches of 4: latency "), std::string::npos) << run.err;
      EXPECT_NE(run.err.find("one board "), std::string::npos) << run.err;
      EXPECT_NE(run.err.find("Picture: " + picture), std::string::npos) << run.err;
      const std::string svg = plan_text(picture);
      EXPECT_EQ(problem_of(svg), "");
      EXPECT_EQ(rectangles_of(svg), tiles_of(report));
    }
  }
}

TEST(PlanCommand, PlansTilesForTheLatencyUnlessTold) {
  const TemporaryFolder folder;
  const Finished run = mangrove_plan({"plan", "--model", "lenet", "--profile", measured(folder), "--devices",
                                      kDevices + "boards.yaml", "--tiles", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["objective"], "latency");
}

TEST(PlanCommand, DrawsStagesAndReportsBothKindsOfPlan) {
  const TemporaryFolder folder;
  const std::string profile = measured(folder), picture = folder / "plan.svg";
  for (const bool tiles : {false, true}) {
    std::vector<std::string> arguments = {
        "plan",      "--model", "lenet", "--profile", profile, "--devices", kDevices + "boards.yaml",
        "--picture", picture,   "--json"};
    if (tiles) arguments.push_back("--tiles");
    const Finished run = mangrove_plan(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(problem_of(plan_text(picture)), "");
    EXPECT_NE(plan_text(picture).find("Plan: lenet"), std::string::npos);
    ASSERT_TRUE(write_file_atomically(folder / "plan.json", run.out).ok());
    const Finished page = mangrove_plan({"report", folder / "plan.json", "--output", folder / "plan.html"});
    ASSERT_EQ(page.status, 0) << page.err;
    const std::string html = plan_text(folder / "plan.html");
    EXPECT_EQ(problem_of(html), "");
    EXPECT_NE(html.find(tiles ? "A plan in tiles for lenet" : "A plan for lenet"), std::string::npos);
  }
}

struct PlanCommandUsage {
  const char* name;
  std::vector<std::string> arguments;
  const char* says;
};

std::vector<std::string> tiled(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "plan", "--model", "lenet", "--profile", "none.yaml", "--devices", kDevices + "boards.yaml", "--tiles"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class BadPlanUsage : public ::testing::TestWithParam<PlanCommandUsage> {};

TEST_P(BadPlanUsage, IsOneLineAndStatusTwo) {
  const Finished run = mangrove_plan(GetParam().arguments);
  EXPECT_EQ(run.status, 2) << run.err;
  EXPECT_NE(run.err.find(GetParam().says), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    Plan, BadPlanUsage,
    ::testing::Values(
        PlanCommandUsage{"nothing", {"plan"}, "give --devices and --model"},
        PlanCommandUsage{
            "no_profile", {"plan", "--model", "lenet", "--devices", kDevices + "boards.yaml"}, "'pi3-1' has no times"},
        PlanCommandUsage{"no_file", {"plan", "--model", "lenet", "--devices", "/none.yaml"}, "/none.yaml"},
        PlanCommandUsage{"tiles_for_energy", tiled({"--objective", "energy"}), "not for energy"},
        PlanCommandUsage{"tiles_for_training", tiled({"--train"}), "--train"},
        PlanCommandUsage{"tiles_with_replicas", tiled({"--replicas", "2"}), "--replicas"},
        PlanCommandUsage{"tiles_of_pipedream",
                         {"plan", "--profile", "g.graph.txt", "--devices", kDevices + "boards.yaml", "--tiles"},
                         "give --model"},
        PlanCommandUsage{"picture_of_another_kind", tiled({"--picture", "plan.png"}), "--picture: 'plan.png'"},
        PlanCommandUsage{"profile_without_output", {"profile", "lenet"}, "--output"},
        PlanCommandUsage{"profile_of_nothing", {"profile", "lenett", "--output", "x"}, "did you mean 'lenet'"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(PlanCommand, SaysTheLeastMemoryThatWouldDo) {
  const TemporaryFolder folder;
  const std::string profile = measured(folder);
  ASSERT_TRUE(write_file_atomically(folder / "d.yaml", "pi:\n  count: 2\n  memory: 1MB\n").ok());
  const Finished run =
      mangrove_plan({"plan", "--model", "lenet", "--profile", profile, "--devices", folder / "d.yaml"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("network 'lenet' fits no plan: with "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("MB on each device one would"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace mangrove::testing
