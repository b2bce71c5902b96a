#include "mangrove/cli/reports/inference_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/json_values.h"
#include "mangrove/cli/reports/stage_picture.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using Answers = InferenceHistory::Answers;

constexpr std::size_t kMostRows = 64;
constexpr double kMilli = 1000;

std::string style_of(std::size_t at) {
  return fmt::format("n{}", at % 10);
}

Curve scaled(Curve curve, double factor) {
  for (auto& [x, y] : curve) y *= factor;
  return curve;
}

/// A series for each of them, with their names above.
template <class T, class Get>
std::string chart_of(const std::string& heading, const char* unit, const std::vector<T>& all, const Get& curve_of) {
  std::vector<Series> series;
  std::string legend;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Curve curve = curve_of(all[i]);
    if (curve.empty()) continue;
    series.push_back({curve, style_of(i), all[i].name});
    legend += fmt::format(R"(<b class="{}">{}</b> )", style_of(i), escaped(all[i].name));
  }
  if (series.empty()) return {};
  return html_section(heading, "<p class=\"legend\">" + legend + "</p>" + svg_chart("seconds", unit, series));
}

std::string answer_charts(const InferenceHistory& history) {
  const auto images = [](const Answers& answers) { return answers.images.per_second(); };
  return chart_of("Answers by tier", "images/s", history.tiers(), images) +
         chart_of("Latency by tier", "ms", history.tiers(),
                  [](const Answers& answers) { return scaled(answers.latency.points(), kMilli); }) +
         chart_of("Tasks without an answer yet", "tasks", history.tiers(),
                  [](const Answers& answers) { return answers.open.per_second(); }) +
         chart_of("Answers by exit", "images/s", history.exits(), images);
}

std::string stage_charts(const InferenceHistory& history) {
  using Stage = InferenceHistory::Stage;
  std::string html = chart_of("Utilisation of the stages", "%", history.stages(),
                              [](const Stage& stage) { return scaled(stage.utilisation.points(), 100); }) +
                     chart_of("Queues of the stages", "micro-batches that wait", history.stages(),
                              [](const Stage& stage) { return stage.queue.points(); });
  if (!history.latency().empty())
    html += html_section("Latency", svg_chart("seconds", "ms", {{scaled(history.latency().points(), kMilli), "a"}}));
  return html;
}

std::string over_time(const InferenceHistory& history) {
  const std::string charts =
      chart_of("Speed", "images/s", history.phases(),
               [](const InferenceHistory::Phase& phase) { return phase.images_per_s.points(); }) +
      answer_charts(history) + stage_charts(history);
  return charts.empty() ? "" : "<main>\n" + charts + "</main>\n";
}

std::string images_text(const json& object) {
  return format_things(whole_at(object, "images"), "image");
}

std::string percent(const json& object, const char* key) {
  const auto share = number_at(object, key);
  return share ? format_percent(*share) : "-";
}

/// Tiers from the bottom up, and what stayed and went from one to the next.
std::string tier_picture(const json& result) {
  std::vector<Box> boxes;
  const json &sent = array_at(result, "sent_up"), &devices = array_at(result, "devices");
  for (const json& tier : array_at(result, "tiers")) {
    if (boxes.size() == kMostRows) break;
    const std::string name = text_at(tier, "tier");
    const auto count =
        std::ranges::count_if(devices, [&](const json& device) { return text_at(device, "tier") == name; });
    const json& latency = object_at(tier, "latency");
    Box box{.title = fmt::format("{}, {}", name, format_things(count, "device"))};
    box.lines = {fmt::format("{} labels", text_at(tier, "labels")),
                 fmt::format("{}: {}", format_things(whole_at(tier, "tasks"), "task"), images_text(tier))};
    if (whole_at(tier, "tasks") > 0) {
      box.lines.push_back(percent(tier, "accuracy") + " right");
      box.lines.push_back(fmt::format("{} p50, {} p95", format_seconds(number_or_0(latency, "p50_s")),
                                      format_seconds(number_or_0(latency, "p95_s"))));
    }
    if (tier.contains("privacy")) box.lines.push_back("not trusted: " + text_at(tier, "privacy"));
    if (boxes.size() < sent.size()) box.way = {format_bytes(whole_at(sent[boxes.size()], "bytes")), "sent up"};
    boxes.push_back(std::move(box));
  }
  return boxes.empty() ? "" : "<h2>Tiers</h2>\n" + chain_picture("the tiers and what they answered", boxes);
}

/// How busy the devices of tiers were.
std::string device_rows(const json& result) {
  const double seconds = number_or_0(result, "seconds");
  std::vector<ShareRow> rows;
  for (const json& device : array_at(result, "devices")) {
    const auto busy = number_at(device, "busy_s");
    if (!busy || seconds <= 0 || rows.size() == kMostRows) continue;
    rows.push_back({fmt::format("{} ({})", text_at(device, "node"), text_at(device, "tier")),
                    {{"a", *busy / seconds,
                      fmt::format("{} busy, {}{}", format_percent(*busy / seconds, 0),
                                  format_things(whole_at(device, "tasks"), "task"),
                                  is_true_at(device, "lost") ? ", lost" : "")}}});
  }
  return rows.empty() ? "" : "<h3>Devices</h3>\n" + share_rows("how busy each device was", rows);
}

/// Where images left the network.
std::string exit_rows(const json& result) {
  std::vector<ShareRow> rows;
  for (const json& exit : array_at(result, "exits")) {
    if (rows.size() == kMostRows) break;
    const std::string accuracy = number_at(exit, "accuracy") ? ", " + percent(exit, "accuracy") + " right" : "";
    const std::string answer = text_at(exit, "answer");
    rows.push_back({fmt::format("exit {}{}", whole_at(exit, "exit"), answer.empty() ? "" : ", " + answer + " answer"),
                    {{"a", number_or_0(exit, "share"),
                      fmt::format("{} ({}){}", images_text(exit), percent(exit, "share"), accuracy)}}});
  }
  return rows.empty() ? "" : "<h2>Exits</h2>\n" + share_rows("how many images left at each exit", rows);
}

std::string view_table(const json& result) {
  const json& views = array_at(result, "views");
  if (views.empty()) return {};
  const auto bytes = [](const json& view, const char* key) { return format_bytes(whole_at(view, key)); };
  std::string html =
      "<h2>Views</h2>\n<table><tr><th>view</th><th>node</th><th>micro-batches without it</th><th>scores</th>"
      "<th>features</th><th></th></tr>\n";
  std::size_t rows = 0;
  for (const json& view : views) {
    if (rows++ == kMostRows) break;
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        whole_at(view, "view"), escaped(text_at(view, "node")),
                        format_count(whole_at(view, "micro_batches_without")), bytes(view, "score_bytes"),
                        bytes(view, "feature_bytes"), is_true_at(view, "lost") ? "lost" : "");
  }
  return html + "</table>\n";
}

/// Of an ensemble: how long each of its networks took.
std::string member_rows(const json& result) {
  double longest = 0;
  for (const json& member : array_at(result, "members")) longest = std::max(longest, number_or_0(member, "seconds"));
  std::vector<ShareRow> rows;
  for (const json& member : array_at(result, "members")) {
    if (rows.size() == kMostRows || longest <= 0) break;
    const double seconds = number_or_0(member, "seconds");
    rows.push_back({fmt::format("network {} on {}", rows.size() + 1, text_at(member, "node")),
                    {{"a", seconds / longest, format_seconds(seconds)}}});
  }
  return rows.empty() ? "" : "<h2>Networks</h2>\n" + share_rows("how long each network took", rows);
}

std::string plan_section(const json& result) {
  const std::string picture = stage_picture(array_at(result, "stages"));
  return picture.empty() ? "" : "<h2>The network over the nodes</h2>\n" + picture;
}

}  // namespace

std::string inference_figures(const json& result) {
  if (!result.is_object()) return {};
  const auto rate = [&](const char* key) { return format_number(number_or_0(result, key)); };
  const auto count = [&](const char* key) { return format_count(whole_at(result, key)); };
  const json& latency = object_at(result, "latency");
  std::string html = "<dl>";
  if (const std::string strategy = text_at(result, "strategy"); !strategy.empty())
    html += html_figure("strategy", strategy);
  if (result.contains("accuracy")) html += html_figure("accuracy", percent(result, "accuracy"));
  if (result.contains("macro_f1")) html += html_figure("macro F1", percent(result, "macro_f1"));
  if (result.contains("coarse_accuracy"))
    html += html_figure("accuracy of coarse classes", percent(result, "coarse_accuracy"));
  html += html_figure("images/s", rate("images_per_s"));
  if (result.contains("stages")) html += html_figure("predicted images/s", rate("predicted_images_per_s"));
  if (result.contains("seconds")) html += html_figure("time", format_seconds(number_or_0(result, "seconds")));
  if (result.contains("predicted_seconds"))
    html += html_figure("predicted time", format_seconds(number_or_0(result, "predicted_seconds")));
  if (const auto p50 = number_at(latency, "p50_s"))
    html += html_figure("latency p50 / p95",
                        fmt::format("{} / {}", format_seconds(*p50), format_seconds(number_or_0(latency, "p95_s"))));
  if (const std::string limit = text_at(result, "limited_by"); !limit.empty()) html += html_figure("limited by", limit);
  if (result.contains("agreement"))
    html += html_figure("fastest node images/s", rate("single_images_per_s")) +
            html_figure("same answer as one node", percent(result, "agreement"));
  if (result.contains("lost")) html += html_figure("lost images", count("lost"));
  if (whole_at(result, "missed") > 0) html += html_figure("missed their deadline", count("missed"));
  if (const std::string scheduler = text_at(result, "scheduler"); !scheduler.empty())
    html += html_figure("scheduler, policy", scheduler + ", " + text_at(result, "policy"));
  return html + "</dl>";
}

std::string inference_sections(const InferenceHistory& history, const json& result) {
  const std::string charts = over_time(history), plan = plan_section(result);
  std::string html = charts.empty() ? "" : "<h2>Inference</h2>\n" + charts;
  html +=
      plan + tier_picture(result) + device_rows(result) + exit_rows(result) + view_table(result) + member_rows(result);
  return html;
}

}  // namespace mangrove::cli
