#include "mangrove/cli/reports/report_page.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/cli/html_check.h"
#include "tests/cli/reports/whole_json.h"

#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/cluster/node_event.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using testing::problem_of;

std::size_t count_in_page(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The (x, y) of a polyline of this class.
Curve points_of(const std::string& svg, const std::string& style) {
  Curve points;
  const std::string begin = "<polyline class=\"" + style + "\" points=\"";
  std::size_t at = svg.find(begin);
  if (at == std::string::npos) return points;
  const char* text = svg.c_str() + at + begin.size();
  while (*text != '"') {
    char* end = nullptr;
    const double x = std::strtod(text, &end);
    const double y = std::strtod(end + 1, &end);
    points.emplace_back(x, y);
    text = end + 1;
  }
  return points;
}

template <class E>
json line_with(const E& event) {
  json line = job::event_json(event);
  line["kind"] = "event";
  return line;
}

json line_with(const cluster::NodeEvent& event) {
  json line = json::parse(event.report().json);
  line["kind"] = "event";
  return line;
}

std::vector<json> two_epochs() {
  std::vector<json> metrics;
  for (int done = 100; done <= 400; done += 100)
    metrics.push_back(whole_line<job::Progress>("progress", {{"phase", "train"},
                                                             {"epoch", 1 + (done - 1) / 200},
                                                             {"epochs", 2},
                                                             {"done", done},
                                                             {"total", 400},
                                                             {"loss", 2.0 - 0.004 * done},
                                                             {"accuracy", 0.002 * done},
                                                             {"learning_rate", 0.1},
                                                             {"images_per_s", 1000.0 + done}}));
  for (int epoch : {1, 2})
    metrics.push_back(whole_line<train::EpochReport>(
        "epoch", {{"epoch", epoch}, {"validation_loss", 2.0 / epoch}, {"validation_accuracy", 0.4 * epoch}}));
  metrics.push_back(line_with(train::WorkerBack{"a"}));
  metrics.push_back(nullptr);  // a line that was cut off
  return metrics;
}

std::string page_of(const std::string& title, const std::vector<json>& metrics, const json& results) {
  RunRecord run;
  run.title = title;
  run.results = results;
  for (const json& line : metrics) run.history.take(line);
  return report_page(run);
}

TEST(ReportPage, IsWellFormedAndHasTheFigures) {
  const json result = {{"accuracy", 0.8765},    {"test_loss", 0.4321},   {"macro_f1", 0.8642},
                       {"epochs", 2},           {"workers", 4},          {"batch", 64},
                       {"best_epoch", 2},       {"train_seconds", 12.5}, {"best_validation_accuracy", 0.9123},
                       {"images_per_s", 3456.7}};
  const std::string page = page_of("lenet on mnist", two_epochs(), {{"train", whole<train::TrainResult>(result)}});
  EXPECT_EQ(problem_of(page), "");
  for (const char* text : {"<title>lenet on mnist</title>", "87.65 %", "0.4321", "86.42 %", "91.23 % (epoch 2)",
                           "4 × 64", "<dd>3,457</dd>", "Loss", "Accuracy", "Learning rate", "Throughput"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_EQ(count_in_page(page, "<svg "), 4u);
  EXPECT_EQ(count_in_page(page, "<polyline class=\"a\""), 4u);
  EXPECT_EQ(count_in_page(page, "<polyline class=\"b\""), 2u) << "validation: loss and accuracy";
}

TEST(ReportPage, OfPrivateTrainingShowsWhatIsSpent) {
  std::vector<json> metrics = two_epochs();
  for (std::size_t i = 0; i < 4; ++i) metrics[i]["epsilon"] = 0.5 * static_cast<double>(i + 1);
  const std::string page = page_of("private", metrics, json::object());
  EXPECT_EQ(problem_of(page), "");
  EXPECT_NE(page.find("Privacy spent"), std::string::npos);
  EXPECT_EQ(count_in_page(page, "<svg "), 5u);
}

TEST(ReportPage, NamesDoNotBecomeMarkup) {
  const std::string page = page_of("<b>&\"model\".onnx on csv:a&b.csv", two_epochs(), json::object());
  EXPECT_EQ(problem_of(page), "");
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&amp;&quot;model&quot;.onnx on csv:a&amp;b.csv"), std::string::npos);
  EXPECT_NE(page.find("The run has not ended"), std::string::npos);
}

TEST(ReportPage, OfARunWithoutMetricsIsWellFormed) {
  const std::string page = page_of("empty", {}, json::object());
  EXPECT_EQ(problem_of(page), "");
  EXPECT_EQ(count_in_page(page, "<svg "), 0u);
}

TEST(ReportPage, TakesWhateverIsInItsFiles) {
  std::vector<json> metrics = two_epochs();
  for (const json& odd : {json("<x>"), json(nullptr), json(-1e300), json::array({1, {2}}), json::object()}) {
    for (const char* kind : {"progress", "epoch", "sample", "event", "tier_answers", "view_answers", "stage_load"}) {
      json line = {{"kind", kind}};
      for (const char* key : {"done", "total", "epoch", "epochs", "loss", "node", "time_s", "traffic", "steps", "event",
                              "tier", "at_s", "latency_s", "classes", "exits", "stages", "images_per_s", "phase"})
        line[key] = odd;
      metrics.push_back(line);
    }
  }
  for (const json& odd : {json("<i>"), json(nullptr), json(1e300), json::array({1, "<i>"}), json::object()}) {
    json all =
        whole<train::TrainResult>({{"model", "<i>"}, {"confusion", {{1, 2}, {3, 4}}}, {"classes", {"<i>", "b"}}});
    for (auto& [key, value] : all.items()) {
      json wrong = all;
      wrong[key] = odd;
      const std::string page = page_of("odd", {}, {{"train", wrong}, {"eval", wrong}, {"infer", wrong}});
      EXPECT_EQ(problem_of(page), "") << key;
      EXPECT_EQ(page.find("<i>"), std::string::npos) << key;
      EXPECT_EQ(page.find("nan"), std::string::npos) << key;
    }
  }
  json result = {{"classes", {"a", "b"}}, {"confusion", {{1, "<b>"}, {2, 3}}}, {"accuracy", 0.5}, {"head", 3}};
  for (const char* key : {"epochs", "workers", "best_epoch", "images_per_s", "stages", "tiers", "exits", "views",
                          "members", "devices", "latency", "nodes", "advice", "embedded"})
    result[key] = {"<i>", {{"stage", "<i>"}, {"node", 7}, {"busy_s", "x"}, {"devices", {1, "<i>"}}}};
  const std::string page = page_of("odd", metrics, {{"train", result}, {"infer", result}, {"eval", 1}});
  EXPECT_EQ(problem_of(page), "");
  EXPECT_EQ(page.find("<b>\""), std::string::npos);
  EXPECT_EQ(page.find("<i>"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(ReportPage, SaysWhatHappened) {
  std::vector<json> metrics = two_epochs();
  metrics.push_back(line_with(cluster::NodeEvent(cluster::kNodeLost, "pi-3", 12.5)));
  metrics.push_back(line_with(train::AdviceGiven{{.boards = 1}}));
  metrics.push_back(line_with(train::MemoryPlanned{.node = "a", .micro_batches = 1}));  // nothing to tell
  for (int i = 0; i < 300; ++i) metrics.push_back(line_with(cluster::NodeEvent(cluster::kNodeJoined, "\x01<pi>", 13)));
  const std::string page = page_of("events", metrics, json::object());
  EXPECT_EQ(problem_of(page), "");
  EXPECT_NE(page.find("<td>12.5 s</td><td class=\"b\">pi-3 is lost</td>"), std::string::npos);
  EXPECT_NE(page.find(" &lt;pi&gt; has joined"), std::string::npos);
  EXPECT_NE(page.find("and 102 more events"), std::string::npos) << page;
}

TEST(SvgChart, DrawsTheValuesInProportion) {
  const std::string svg = svg_chart("epoch", "%", {{{{0, 0}, {1, 50}, {4, 100}}, "a"}, {{{2, 25}}, "b"}});
  EXPECT_EQ(problem_of(svg), "");
  const Curve a = points_of(svg, "a"), b = points_of(svg, "b");
  ASSERT_EQ(a.size(), 3u);
  ASSERT_EQ(b.size(), 1u);
  const double width = a[2].first - a[0].first, height = a[0].second - a[2].second;  // y grows downwards
  EXPECT_GT(width, 300);
  EXPECT_GT(height, 150);
  EXPECT_NEAR(a[1].first - a[0].first, width / 4, 0.2);
  EXPECT_NEAR(a[0].second - a[1].second, height / 2, 0.2);
  EXPECT_NEAR(b[0].first - a[0].first, width / 2, 0.2);
  EXPECT_NEAR(a[0].second - b[0].second, height / 4, 0.2);
  for (const char* tick : {">0<", ">20<", ">100<", ">4<", ">epoch<", ">%<"})
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
}

TEST(SvgChart, LargeNumbersHaveNoExponents) {
  const std::string svg = svg_chart("seconds", "images/s", {{{{0, 0}, {1, 31'000}}, "a"}});
  EXPECT_NE(svg.find(">30,000<"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("e+"), std::string::npos);
}

TEST(SvgChart, LongCurvesAreThinnedToMeans) {
  Curve curve;
  for (int i = 0; i < 3000; ++i) curve.emplace_back(i, i % 2);
  const Curve drawn = points_of(svg_chart("epoch", "", {{curve, "a"}}), "a");
  ASSERT_EQ(drawn.size(), 300u);
  for (const auto& [x, y] : drawn) EXPECT_EQ(y, drawn[0].second) << "each is the mean of ten";
}

TEST(SvgChart, WhatIsNoNumberIsLeftOut) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  const std::string svg = svg_chart("epoch", "", {{{{0, 1}, {1, kNan}, {2, kInfinity}, {3, 2}}, "a"}});
  EXPECT_EQ(problem_of(svg), "");
  EXPECT_EQ(points_of(svg, "a").size(), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(svg_chart("epoch", "", {{{{0, kNan}}, "a"}}).find("<svg"), std::string::npos);
  EXPECT_EQ(problem_of(svg_chart("epoch", "", {{{{1, 5}}, "a"}})), "") << "one point";
}

}  // namespace
}  // namespace mangrove::cli
