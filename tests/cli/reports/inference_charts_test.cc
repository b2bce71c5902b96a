#include "mangrove/cli/reports/inference_charts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/html_check.h"
#include "tests/cli/reports/whole_json.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::problem_of;

bool has(const std::string& html, const std::string& text) {
  return html.find(text) != std::string::npos;
}

json progress(const char* phase, int done, double images_per_s) {
  return whole_line<job::Progress>("progress",
                                   {{"phase", phase}, {"done", done}, {"total", 1000}, {"images_per_s", images_per_s}});
}

TEST(InferenceHistory, SpeedIsThatSinceTheLastLine) {
  InferenceHistory history;
  history.take(progress("single", 100, 50));     // after 2 s
  history.take(progress("single", 400, 100));    // after 4 s: 300 in 2 s
  history.take(progress("single", 100, 25));     // begun anew elsewhere
  history.take(progress("pipeline", 10, 0));     // no time has passed
  history.take(progress("pipeline", 300, 300));  // after 1 s
  history.take(progress("validate", 300, 300));  // of a training
  ASSERT_EQ(history.phases().size(), 2u);
  EXPECT_EQ(history.phases()[0].name, "single");
  EXPECT_EQ(history.phases()[0].images_per_s.points(), (Curve{{2, 50}, {4, 150}, {4, 25}}));
  EXPECT_EQ(history.phases()[1].images_per_s.points(), (Curve{{1, 300}}));
}

json answers(const char* tier, double at, double latency, std::vector<int> exits = {}) {
  json line =
      whole_line<infer::TierAnswersLine>({{"tier", tier}, {"at_s", at}, {"latency_s", latency}, {"classes", {1, 2}}});
  for (const int exit : exits) line["exits"].push_back(exit == 0 ? json() : json(exit));
  return line;
}

TEST(InferenceHistory, TiersAnswerOverTime) {
  InferenceHistory history;
  history.take(answers("end", 1, 0.5, {1, 0}));
  history.take(answers("cloud", 4, 2, {3, 3}));
  ASSERT_EQ(history.tiers().size(), 2u);
  EXPECT_EQ(history.tiers()[1].name, "cloud");
  EXPECT_EQ(history.tiers()[1].latency.points(), (Curve{{4, 2}}));
  double open = 0;
  const Curve cloud = history.tiers()[1].open.per_second();
  for (const auto& [time, count] : cloud)
    if (time > 2.2 && time < 3.8) open = count;
  EXPECT_NEAR(open, 1, 1e-9) << "a task that was given out after 2 s and answered after 4 s";
  EXPECT_EQ(cloud.front().second, 0);
  ASSERT_EQ(history.exits().size(), 2u) << "of the image that stays, nothing is known yet";
  EXPECT_EQ(history.exits()[1].name, "exit 3");
}

TEST(InferenceCharts, OfTiersShowWhoAnsweredWhat) {
  InferenceHistory history;
  for (int i = 0; i < 20; ++i) history.take(answers(i % 2 == 0 ? "end" : "cloud", 0.1 * i, 0.02 * i, {1, 2}));
  using Tier = infer::TiersResult::Tier;
  infer::TiersResult tiers;
  tiers.all.strategy = "tiers";
  tiers.all.accuracy = 0.895;
  tiers.all.seconds = 2;
  tiers.scheduler = "mapping";
  tiers.policy = "monitor";
  tiers.lost = 3;
  tiers.tiers = {Tier{.tier = "end", .labels = "coarse", .tasks = 40, .images = 2000, .accuracy = 0.921},
                 Tier{.tier = "cloud", .labels = "fine", .tasks = 1, .images = 50, .privacy = "split@<pool1>"}};
  tiers.sent_up = {{"second", 51'200, 0}};
  tiers.exits = {{1, "first", 1500, 0.75, 0.91}};
  tiers.devices = {{.node = "node-1", .tier = "end", .tasks = 20, .busy = 0.5, .is_lost = true}};
  const InferOutcome result{.all = tiers.all, .tiers = tiers};
  const std::string html = inference_figures(result) + inference_sections(history, result);
  EXPECT_EQ(problem_of(html), "");
  for (const char* text :
       {"89.50 %", "mapping, monitor", "<dd>3</dd>", "Answers by tier", "Latency by tier",
        "Tasks without an answer yet", "Answers by exit", "end, 1 device", "40 tasks: 2,000 images", "92.10 % right",
        "51.2 kB", "sent up", "not trusted: split@&lt;pool1&gt;", "exit 1, first answer",
        "1,500 images (75.00 %), 91.00 % right", "25 % busy, 20 tasks, lost"})
    EXPECT_TRUE(has(html, text)) << text;
}

TEST(InferenceCharts, OfAPipelineShowStagesAndQueues) {
  InferenceHistory history;
  for (int i = 1; i <= 5; ++i)
    history.take(whole_line<infer::StageLoad>(
        {{"at_s", i},
         {"latency_s", 0.01 * i},
         {"stages", {{{"stage", 0}, {"node", "pi-1"}, {"utilisation", 0.5}, {"queue", 1.5 * i}}}}}));
  infer::PipelineResult pipeline;
  pipeline.stages = {{.stage = 0,
                      .node = "pi-1",
                      .operators = {"conv1", "pool1"},
                      .busy = 0.002,
                      .predicted_busy = 0.0025,
                      .utilisation = 0.8,
                      .predicted_utilisation = 1,
                      .queue_mean = 1.25,
                      .bytes_per_image = 2304},
                     {.stage = 1, .node = "pi-2", .operators = {"fc1"}, .busy = 0.001}};
  const InferOutcome result{.all = {}, .pipeline = pipeline};
  ASSERT_EQ(history.stages().size(), 1u);
  EXPECT_EQ(history.stages()[0].name, "stage 1 on pi-1");
  EXPECT_EQ(history.stages()[0].queue.points().back(), (std::pair<double, double>{5, 7.5}));
  EXPECT_EQ(history.latency().points().front(), (std::pair<double, double>{1, 0.01}));
  const std::string html = inference_sections(history, result);
  EXPECT_EQ(problem_of(html), "");
  for (const char* text :
       {"The network over the nodes", "stage 1", "stage 2", "pi-2", "conv1 ... pool1 (2 layers)", "2 ms a micro-batch",
        "2.5 ms predicted", "80 % busy", "100 % busy, predicted", "1.2 wait for it", "2.30 kB", "Queues of the stages",
        "Utilisation of the stages", "Latency"})
    EXPECT_TRUE(has(html, text)) << text;
}

TEST(InferenceCharts, OfTilesShowEachBlockAndWhoHasWhichTile) {
  infer::TilesResult tiles;
  infer::TileTeamReport& team = tiles.teams.emplace_back();
  team.source = "pi-1";
  team.work = 1.25;
  team.sent_bytes = 2304;
  team.blocks = {{.first = "conv1",
                  .last = "pool1",
                  .operators = 3,
                  .tiles = {{"pi-1", {0, 0, 9, 28}, 0.002, 0.0025}, {"pi-<2>", {9, 0, 28, 28}, 0.004, 0.0045}}},
                 {.first = "fc1", .last = "fc1", .operators = 1, .tiles = {{"pi-1", {}, 0.001, 0.001}}}};
  tiles.predicted_latency = 0.0125;
  const InferOutcome result{.all = {}, .tiles = tiles};
  const std::string html = inference_figures(result) + inference_sections({}, result);
  EXPECT_EQ(problem_of(html), "");
  for (const char* text : {"The network in tiles", "block 1", "block 2", "conv1 ... pool1 (3)", "pi-&lt;2&gt;",
                           "9 - 27", "0 - 8", "<td>all</td>", "4.5 ms", "12.5 ms", "2.30 kB"})
    EXPECT_TRUE(has(html, text)) << text;
}

TEST(InferenceCharts, OfViewsAndEnsemblesNameTheirParts) {
  infer::ViewsResult views;
  views.views = {{.view = 2, .node = "cam-<2>", .is_lost = true, .micro_batches_without = 7, .score_bytes = 1000}};
  infer::EnsembleResult ensemble;
  ensemble.members = {{"pi-1", {}, 2}, {"pi-2", {}, 1}};
  const std::string html = inference_sections({}, InferOutcome{.all = {}, .views = views}) +
                           inference_sections({}, InferOutcome{.all = {}, .ensemble = ensemble});
  EXPECT_EQ(problem_of(html), "");
  for (const char* text : {"<td>2</td><td>cam-&lt;2&gt;</td><td>7</td><td>1.00 kB</td>", "network 1 on pi-1", "2.0 s"})
    EXPECT_TRUE(has(html, text)) << text;
  EXPECT_EQ(inference_sections({}, std::nullopt), "");
}

}  // namespace
}  // namespace mangrove::cli
