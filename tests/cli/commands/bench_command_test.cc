#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

json json_in(const fs::path& path) {
  return json::parse(read_file(path).value());
}

void expect_positive(const json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    ASSERT_TRUE(object.contains(key)) << key << " in " << object;
    ASSERT_TRUE(object[key].is_number()) << object;
    EXPECT_GT(object[key].get<double>(), 0) << key << " in " << object;
  }
}

void expect_figures(const json& network) {
  EXPECT_TRUE(network["task"] == "training" || network["task"] == "inference") << network;
  expect_positive(network, {"batch", "threads"});
  if (network.contains("left_out")) {  // this machine is slow
    EXPECT_FALSE(network["left_out"].get<std::string>().empty());
    EXPECT_FALSE(network.contains("images_per_s")) << network;
    return;
  }
  expect_positive(network,
                  {"images_per_s", "step_s", "step_p10_s", "step_p90_s", "steps", "planned_memory", "resident_memory"});
  const double step = network["step_s"].get<double>();
  EXPECT_NEAR(network["images_per_s"].get<double>(), network["batch"].get<double>() / step, 1e-6 / step);
  EXPECT_LE(network["step_p10_s"].get<double>(), step);
  EXPECT_GE(network["step_p90_s"].get<double>(), step);
}

class BenchResult : public ::testing::Test {
 protected:
  /// One short measurement for all tests of this suite.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    run_ = new Finished(run_program(
        {program(), "bench", "--seconds", "6", "--threads", "2", "--output", *folder_ / "board.json", "--json"}, 300));
  }
  static void TearDownTestSuite() {
    delete run_;
    delete folder_;
  }
  static inline TemporaryFolder* folder_ = nullptr;
  static inline Finished* run_ = nullptr;
};

TEST_F(BenchResult, IsTheSameInTheFileAndOnStandardOutput) {
  ASSERT_EQ(run_->status, 0) << run_->err;
  EXPECT_EQ(json_in(*folder_ / "board.json"), json::parse(run_->out));
}

TEST_F(BenchResult, DescribesTheMachineAndTheProgram) {
  const json result = json::parse(run_->out);
  EXPECT_EQ(result["complete"], true);
  expect_positive(result, {"seconds"});
  EXPECT_FALSE(result["version"].get<std::string>().empty());
  EXPECT_TRUE(result["date"].get<std::string>().ends_with(" UTC")) << result["date"];
  const auto backends = result["backends"].get<std::vector<std::string>>();
  EXPECT_EQ(std::ranges::count(backends, result["backend"].get<std::string>()), 1);
  expect_positive(result["machine"], {"cores", "usable_cores", "memory"});
  EXPECT_TRUE(result["machine"]["architecture"].is_string());
  EXPECT_TRUE(result["machine"]["features"].is_array());
  EXPECT_TRUE(result["notes"].is_array());
}

TEST_F(BenchResult, HasFiguresOrReasonsOnBothNumbersOfThreads) {
  const json result = json::parse(run_->out);
  ASSERT_EQ(result["rates"].size(), 2U);
  for (const json& rates : result["rates"]) {
    expect_positive(rates, {"threads"});
    if (!rates.contains("left_out")) expect_positive(rates, {"product_flop_per_s", "copy_bytes_per_s"});
  }
  std::set<std::string> tasks[2];
  for (const json& network : result["networks"]) {
    expect_figures(network);
    const int threads = network["threads"].get<int>();
    ASSERT_TRUE(threads == 1 || threads == 2) << network;
    tasks[threads - 1].insert(network["task"].get<std::string>() + " " + network["network"].get<std::string>());
  }
  const std::set<std::string> all = {"training resnet-32",  "training mobilenetv2",    "training lenet",
                                     "inference resnet-18", "inference mobilenet",     "inference mobilenetv2",
                                     "inference lenet",     "inference squeezenet-1.1"};
  EXPECT_EQ(tasks[0], all);
  EXPECT_EQ(tasks[1], all);
}

TEST_F(BenchResult, ShowsATableAndProgressOnStandardError) {
  EXPECT_NE(run_->err.find("measuring 1 of 20: matrix product, 1 thread"), std::string::npos) << run_->err;
  EXPECT_NE(run_->err.find("measuring 20 of 20: training resnet-32, 2 threads"), std::string::npos) << run_->err;
  EXPECT_NE(run_->err.find("training, 2 threads "), std::string::npos) << run_->err;
}

TEST_F(BenchResult, HasNothingThatNamesTheMachine) {
  const std::set<std::string> known = {"model",        "processor",    "architecture",     "cores",
                                       "usable_cores", "features",     "governor",         "max_clock_hz",
                                       "memory",       "clock_driver", "operating_system", "kernel"};
  const json machine = json::parse(run_->out)["machine"];
  for (const auto& [key, value] : machine.items()) EXPECT_TRUE(known.contains(key)) << key;
}

TEST(Bench, OnOneThreadDoesNotMeasureTwice) {
  const TemporaryFolder folder;
  const Finished run =
      run_program({program(), "bench", "--seconds", "2", "--threads", "1", "-o", folder / "b.json", "--quiet"}, 300);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_NE(run.out.find("training, 1 thread "), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("threads"), std::string::npos) << run.out;
  const json result = json_in(folder / "b.json");
  EXPECT_EQ(result["rates"].size(), 1U);
  EXPECT_EQ(result["networks"].size(), 8U);
}

TEST(Bench, CtrlCKeepsWhatWasMeasured) {
  const TemporaryFolder folder;
  testing::Process process({program(), "bench", "--seconds", "20", "--threads", "1", "-o", folder / "b.json"});
  ASSERT_TRUE(process.wait_until([&] { return process.err().find("measuring 3 of 10") != std::string::npos; }, 120));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(60), 130) << process.err();
  EXPECT_NE(process.err().find("stopped; what was measured until then is in"), std::string::npos) << process.err();
  const json result = json_in(folder / "b.json");
  EXPECT_EQ(result["complete"], false);
  ASSERT_EQ(result["rates"].size(), 1U);
  expect_positive(result["rates"][0], {"product_flop_per_s", "copy_bytes_per_s"});
  EXPECT_LT(result["networks"].size(), 8U);
}

TEST(Bench, RefusesAFileThatCannotBeWrittenBeforeItMeasures) {
  const TemporaryFolder folder;
  for (const fs::path& path : {folder / "none/b.json", folder.path()}) {
    const Finished run = run_program({program(), "bench", "-o", path});
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_NE(run.err.find(path.string() + ": cannot "), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find("measuring"), std::string::npos) << run.err;
  }
}

TEST(Bench, FailsWhereTheUserMayNotWrite) {
  const Finished run = run_program({program(), "bench", "-o", "/sys/b.json"});  // not even root may
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("/sys/b.json: cannot write: "), std::string::npos) << run.err;
}

}  // namespace
}  // namespace mangrove
