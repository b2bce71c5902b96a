// Another scheduler for a job with tiers, from another terminal while it runs.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/temporary_folder.h"
#include "tests/cli/separate_processes.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::SeparateProcesses;
using testing::TemporaryFolder;
using testing::text_of;

constexpr Seconds kSwitchCommandLong = 200;
constexpr int kImages = 2000;

struct Switch : SeparateProcesses {
  Finished switch_to(const std::string& scheduler) const {
    return run_program({program(), "switch", "--coordinator", address, "--scheduler", scheduler, "--json"});
  }
  TemporaryFolder folder;
};

TEST_F(Switch, NeedsAJob) {
  const Finished refused = switch_to("end");
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("no job runs"), std::string::npos) << refused.err;
}

TEST_F(Switch, MovesTheRestOfARunningJobToAnotherTier) {
  const std::string tiers = folder / "tiers.yaml", run_dir = folder / "run";
  // an image a task and 64 tasks on their way at most: the edge alone takes a quarter of a minute
  std::ofstream(tiers) << "end:\n  model: mlp-32\nedge:\n  model: mlp-32\ncloud:\n  model: mlp-32\n"
                          "end - edge:\n  delay: 500ms\nend - cloud:\n  delay: 1ms\n";
  Process job({program(), "infer", "--tiers", tiers, "--data", "glyphs", "--limit", std::to_string(kImages),
               "--micro-batch", "1", "--scheduler", "end-edge", "--run-dir", run_dir, "--json"});
  const auto metrics = [&] { return text_of(run_dir + "/metrics.jsonl"); };
  ASSERT_TRUE(job.wait_until([&] { return metrics().find(R"("second")") != std::string::npos; }, kSwitchCommandLong))
      << job.err();
  const std::string told = after(job.err(), "mangrove top --coordinator ");
  address = told.substr(0, told.find('\n'));
  EXPECT_EQ(switch_to("end-claud").status, 2);
  const Finished switched = switch_to("end-cloud");
  ASSERT_EQ(switched.status, 0) << switched.err;
  EXPECT_EQ(json::parse(switched.out)["scheduler"], "end-cloud");
  ASSERT_EQ(job.wait(kSwitchCommandLong), 0) << job.err();

  const json result = json::parse(job.out());
  EXPECT_EQ(result["lost"], 0);
  EXPECT_EQ(result["duplicated"], 0);
  ASSERT_EQ(result["events"].size(), 1u);
  EXPECT_EQ(result["events"][0]["event"], "scheduler_switched");
  EXPECT_EQ(result["events"][0]["from"], "end-edge");
  EXPECT_EQ(result["events"][0]["to"], "end-cloud");
  std::map<std::pair<std::string, int>, int> answers;
  std::map<std::string, int> by_tier;
  std::istringstream lines(metrics());
  for (std::string line; std::getline(lines, line);) {
    const json report = json::parse(line);
    if (report["kind"] != "tier_answers") continue;
    ++answers[{report["answer"], report["begin"]}];
    ++by_tier[report["tier"]];
  }
  EXPECT_EQ(answers.size(), 2u * kImages);
  for (const auto& [task, times] : answers) EXPECT_EQ(times, 1) << task.first << " " << task.second;
  EXPECT_EQ(by_tier["end"], kImages);
  EXPECT_GT(by_tier["edge"], 0);
  EXPECT_GT(by_tier["cloud"], by_tier["edge"]);
}

}  // namespace
}  // namespace mangrove
