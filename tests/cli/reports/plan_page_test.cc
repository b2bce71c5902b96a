#include "mangrove/cli/reports/plan_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/html_check.h"

#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/drawing.h"
#include "mangrove/cli/reports/rate_text.h"
#include "mangrove/cli/reports/stage_picture.h"
#include "mangrove/cli/reports/tile_picture.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::problem_of;

PlanReport plan() {
  PlanReport report;
  for (int i = 0; i < 6; ++i)
    report.plan.stages.push_back({.devices = {"pi-" + std::to_string(i)},
                                  .layers = {"conv" + std::to_string(i), "relu"},
                                  .busy = 0.01,
                                  .period = 0.01,
                                  .utilisation = 0.5,
                                  .sent_bytes = 5000,
                                  .transfer = 0.0004,
                                  .memory = 40'000'000});
  report.plan.stages[5].devices.push_back("pi-<7>");
  report.plan.samples_per_s = 400;
  report.plan.period = 0.02;
  report.plan.latency = 0.1;
  report.plan.in_flight = 6;
  report.plan.limited_by = "stage 2";
  report.model = "resnet-20";
  report.batch = 8;
  report.devices = {{"pi-0", 700'000'000, 12.5e6, 0.0002}, {"pi-9", 0, 0, 0}};
  report.ways = {{{"pi-0", "pi-9"}, 1.25e6, 0.05}};
  report.runner_up = PlanFigures{.samples_per_s = 300, .latency = 0.2, .stages = {report.plan.stages[0]}};
  report.why_it_lost = "one device is slower";
  return report;
}

TEST(PlanPage, ShowsStagesDevicesAndOtherPlans) {
  const std::string page = plan_page(plan());
  EXPECT_EQ(problem_of(page), "");
  for (const char* text : {"A plan for resnet-20", "<dd>400</dd>", "<dd>100 ms</dd>", "<dd>stage 2</dd>", "stage 6",
                           "pi-&lt;7&gt;", "conv0 ... relu (2 layers)", "5.00 kB", "400 us", "10 ms predicted",
                           "50 % busy, predicted", "100 Mbit/s", "700 MB of memory", "not used",
                           "pi-0 to pi-9: 10 Mbit/s, 50 ms", "300 samples/s", "-25.0 %", "one device is slower"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_EQ(page.find("measured"), std::string::npos) << "nothing has run";
}

TEST(PlanPage, TakesWhateverIsInTheFile) {
  const json right = job::json_of(plan());
  ASSERT_TRUE(job::read_json<PlanReport>(right).ok());
  for (const auto& [key, value] : right.items()) {
    json other = right;
    for (const json& wrong : {json(3), json("<x>"), json::array({1, "<x>", json::object()}), json()}) {
      other[key] = wrong;
      if (const auto report = job::read_json<PlanReport>(other); report.ok()) {
        EXPECT_EQ(problem_of(plan_page(*report)), "") << key;
      }
    }
  }
  EXPECT_FALSE(job::read_json<PlanReport>(json{{"stages", 1}}).ok());
}

TilePlanReport tile_plan() {
  TilePlanReport report;
  report.model = "resnet-<18>";
  report.objective = "latency";
  report.batch = 1;
  report.latency = 0.3;
  report.samples_per_s = 4;
  report.teams.push_back({.source = "pi-0",
                          .latency = 0.3,
                          .period = 0.25,
                          .work = 1.25,
                          .sent_bytes = 5000,
                          .limited_by = "computing on pi-0",
                          .uses = {{"pi-0", 40'000'000}, {"pi-<1>", 30'000'000}},
                          .blocks = {}});
  std::vector<TilePlanReport::Block>& blocks = report.teams.front().blocks;
  blocks.push_back({"conv1", "relu", 2, {{"pi-0", {0, 0, 60, 112}, 0.1}, {"pi-<1>", {60, 0, 112, 112}, 0.09}}});
  blocks.push_back({"fc", "fc", 1, {{"pi-0", {}, 1e-7}}});
  report.comparison.push_back({.name = "one board", .why_not = "no <memory>", .limited_by = {}, .why_it_lost = {}});
  report.comparison.push_back(
      {.name = "auto", .why_not = {}, .devices = 2, .latency = 0.3, .limited_by = {}, .why_it_lost = {}});
  report.devices = {{"pi-0", 700'000'000, 12.5e6, 0.0002}, {"pi-9", 0, 0, 0}};
  report.ways = {{{"pi-0", "pi-9"}, 1.25e6, 0.05}};
  return report;
}

TEST(PlanPage, ShowsTilesDevicesAndOtherPlans) {
  const std::string page = plan_page(tile_plan());
  EXPECT_EQ(problem_of(page), "");
  for (const char* text :
       {"A plan in tiles for resnet-&lt;18&gt;", "<dd>300 ms</dd>", "conv1 ... relu (2)", "60 - 111", "90 ms predicted",
        "1.25 times the whole network's work", "5.00 kB", "team 1", "not used", "100 Mbit/s", "no &lt;memory&gt;"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_EQ(page.find("a micro-batch</th>"), std::string::npos) << "nothing has run";
}

TEST(PlanPage, TakesWhateverIsInTheFileOfTiles) {
  const json right = job::json_of(tile_plan());
  ASSERT_TRUE(job::read_json<TilePlanReport>(right).ok());
  EXPECT_FALSE(job::read_json<PlanReport>(right).ok());
  json other = right;
  for (const json& region : {json::array({5, 5, 1, 1}), json::array({1}), json::array({0, 0, 1'000'000'000'000, 1})}) {
    other["teams"][0]["blocks"][0]["tiles"][0]["region"] = region;
    const auto report = job::read_json<TilePlanReport>(other);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(problem_of(plan_page(*report)), "");
    EXPECT_EQ(problem_of(svg_file("", tile_drawings(report->teams))), "");
  }
  other["teams"] = json::array();
  EXPECT_EQ(problem_of(plan_page(*job::read_json<TilePlanReport>(other))), "");
}

std::size_t count_of(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(SvgFile, StandsAlone) {
  const std::string tiles = svg_file("a <plan>", tile_drawings(tile_plan().teams));
  EXPECT_EQ(problem_of(tiles), "");
  EXPECT_EQ(count_of("<rect", tiles), 3u);
  const std::string stages = svg_file("a <plan>", {stage_drawing(plan().plan.stages)});
  EXPECT_EQ(problem_of(stages), "");
  EXPECT_EQ(count_of("<rect class=\"box", stages), 6u);
  for (const std::string& file : {tiles, stages}) {
    EXPECT_TRUE(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"")) << file.substr(0, 100);
    EXPECT_NE(file.find("<title>a &lt;plan&gt;</title>"), std::string::npos);
    EXPECT_EQ(file.find("var("), std::string::npos) << "few programs but browsers know these";
    EXPECT_EQ(file.find('$'), std::string::npos) << "a colour has no value";
    EXPECT_EQ(count_of("<svg", file), 1u);
  }
}

TEST(BoxPicture, CutsWhatIsTooWide) {
  const Box wide{.title = std::string(500, 'w'), .lines = {std::string(500, '<')}, .bars = {{"a", 7, "full"}}};
  const std::string svg = chain_picture("wide", std::vector<Box>(9, wide));
  EXPECT_EQ(problem_of(svg), "");
  EXPECT_EQ(svg.find(std::string(60, 'w')), std::string::npos);
  EXPECT_EQ(problem_of(bus_picture("", "bus", {wide})), "");
  EXPECT_EQ(problem_of(share_rows("", {{"row", {{"a", -1, ""}}}})), "");
  EXPECT_EQ(problem_of(chain_picture("", {})), "");
}

TEST(RateText, IsInBits) {
  EXPECT_EQ(rate_text(12.5e6), "100 Mbit/s");
  EXPECT_EQ(rate_text(0), "no limit");
  EXPECT_EQ(rate_text(1.25e9), "10 Gbit/s");
  EXPECT_EQ(rate_text(1000), "8 kbit/s");
  EXPECT_EQ(flops_text(8e9), "8 GFLOP/s");
  EXPECT_EQ(flops_text(2.5e12), "2,500 GFLOP/s");
}

}  // namespace
}  // namespace mangrove::cli
