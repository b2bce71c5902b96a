#include "mangrove/cli/reports/comparison_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/html_check.h"
#include "tests/cli/reports/whole_json.h"

#include "mangrove/cluster/usage.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::problem_of;

RunRecord trained_run(double accuracy, const std::string& batch, int points) {
  RunRecord run;
  run.title = "lenet on mnist";
  const json nodes = {whole<cluster::NodeUsage>({{"sent_bytes", 1'500'000}}),
                      whole<cluster::NodeUsage>({{"sent_bytes", 500'000}})};
  run.results["train"] =
      whole<train::TrainResult>({{"accuracy", accuracy}, {"train_seconds", 12.5}, {"workers", 4}, {"nodes", nodes}});
  run.settings = {{"batch", batch}, {"momentum", "0.9"}, {"strategy", "<sgd>"}};
  for (int i = 1; i <= points; ++i)
    run.history.take(whole_line<train::EpochReport>(
        "epoch", {{"epoch", i}, {"train_seconds", i}, {"validation_accuracy", 0.1 * i}}));
  return run;
}

TEST(ComparisonPage, ShowsResultsSettingsAndCurvesSideBySide) {
  const std::string page = comparison_page({trained_run(0.9, "32", 3), trained_run(0.95, "64", 4)}, {"one", "<two>"});
  EXPECT_EQ(problem_of(page), "");
  for (const char* text :
       {"2 runs side by side", R"(<th class="n0">one</th><th class="n1">&lt;two&gt;</th>)",
        "<td>test accuracy</td><td>90.00 %</td><td><b>95.00 %</b></td>",
        "<td>training time</td><td>12.5 s</td><td>12.5 s</td>", "<td>workers</td><td>4</td><td>4</td>",
        "<td>sent by all nodes</td><td>2.00 MB</td><td>2.00 MB</td>", "<td>batch</td><td>32</td><td>64</td>",
        "Validation accuracy", "Validation accuracy over time"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_EQ(page.find("<td>momentum</td>"), std::string::npos) << "which all have alike";
  for (const char* style : {"<polyline class=\"n0\"", "<polyline class=\"n1\""}) {
    const std::size_t first = page.find(style);
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(page.find(style, first + 1), std::string::npos) << "in both charts";
  }
}

TEST(ComparisonPage, OfDifferentJobsLeavesGaps) {
  RunRecord inferred;
  inferred.results["infer"] = whole<infer::PipelineResult>(
      {{"accuracy", 0.8}, {"images_per_s", 100.0}, {"latency", whole<infer::Latency>({{"p50_s", 0.01}})}});
  const std::string page = comparison_page({trained_run(0.9, "32", 1), inferred, RunRecord()}, {"a", "b", "c"});
  EXPECT_EQ(problem_of(page), "");
  for (const char* text : {"<td>test accuracy</td><td>90.00 %</td><td>-</td><td>-</td>",
                           "<td>latency p50</td><td>-</td><td>10 ms</td><td>-</td>", ", has not ended"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(ComparisonPage, SaysThatSettingsAreTheSame) {
  const std::string page = comparison_page({trained_run(0.9, "32", 1), trained_run(0.9, "32", 1)}, {"a", "b"});
  EXPECT_NE(page.find("All have the same settings."), std::string::npos);
  EXPECT_EQ(page.find("<b>90.00 %</b>"), std::string::npos) << "none is better";
}

}  // namespace
}  // namespace mangrove::cli
