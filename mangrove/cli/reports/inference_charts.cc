#include "mangrove/cli/reports/inference_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/stage_picture.h"
#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/cli/reports/tile_picture.h"

namespace mangrove::cli {
namespace {

using Answers = InferenceHistory::Answers;

constexpr std::size_t kMostChartRows = 64;
constexpr double kMilli = 1000;

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
    series.push_back({curve, series_style(i), all[i].name});
    legend += fmt::format(R"(<b class="{}">{}</b> )", series_style(i), escaped(all[i].name));
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

std::string share_text(const std::optional<double>& share) {
  return share ? format_percent(*share) : "-";
}

/// A name that somebody else gave.
std::string shown(const std::string& name) {
  return shortened(name, kLongestName);
}

/// Tiers from the bottom up, and what stayed and went from one to the next.
std::string tier_picture(const infer::TiersResult& result) {
  std::vector<Box> boxes;
  for (const infer::TiersResult::Tier& tier : result.tiers) {
    if (boxes.size() == kMostChartRows) break;
    const auto count = std::ranges::count(result.devices, tier.tier, &infer::TiersResult::Device::tier);
    Box box{.title = fmt::format("{}, {}", shown(tier.tier), format_things(count, "device"))};
    box.lines = {fmt::format("{} labels", shown(tier.labels)),
                 fmt::format("{}: {}", format_things(tier.tasks, "task"), format_things(tier.images, "image"))};
    if (tier.tasks > 0) {
      if (tier.accuracy) box.lines.push_back(format_percent(*tier.accuracy) + " right");
      box.lines.push_back(
          fmt::format("{} p50, {} p95", format_seconds(tier.latency.p50), format_seconds(tier.latency.p95)));
    }
    if (tier.privacy) box.lines.push_back("not trusted: " + shown(*tier.privacy));
    if (result.sent_up && boxes.size() < result.sent_up->size())
      box.way = {format_bytes((*result.sent_up)[boxes.size()].bytes), "sent up"};
    boxes.push_back(std::move(box));
  }
  return boxes.empty() ? "" : "<h2>Tiers</h2>\n" + chain_picture("the tiers and what they answered", boxes);
}

/// How busy the devices of tiers were.
std::string device_rows(const infer::TiersResult& result) {
  std::vector<ShareRow> rows;
  for (const infer::TiersResult::Device& device : result.devices) {
    const double share = device.busy / result.all.seconds;
    if (!(result.all.seconds > 0) || !std::isfinite(share) || rows.size() == kMostChartRows) continue;
    rows.push_back({fmt::format("{} ({})", shown(device.node), shown(device.tier)),
                    {{"a", share,
                      fmt::format("{} busy, {}{}", format_percent(share, 0),
                                  format_things(static_cast<std::int64_t>(device.tasks), "task"),
                                  device.is_lost ? ", lost" : "")}}});
  }
  return rows.empty() ? "" : "<h3>Devices</h3>\n" + share_rows("how busy each device was", rows);
}

/// Where images left the network.
std::string exit_rows(const std::vector<infer::ExitReport>& exits) {
  std::vector<ShareRow> rows;
  for (const infer::ExitReport& exit : exits) {
    if (rows.size() == kMostChartRows) break;
    const std::string accuracy = exit.accuracy ? ", " + share_text(exit.accuracy) + " right" : "";
    rows.push_back(
        {fmt::format("exit {}{}", exit.exit, exit.answer ? ", " + shown(*exit.answer) + " answer" : ""),
         {{"a", exit.share,
           fmt::format("{} ({}){}", format_things(exit.images, "image"), format_percent(exit.share), accuracy)}}});
  }
  return rows.empty() ? "" : "<h2>Exits</h2>\n" + share_rows("how many images left at each exit", rows);
}

std::string view_table(const infer::ViewsResult& result) {
  if (result.views.empty()) return {};
  std::string html =
      "<h2>Views</h2>\n<table><tr><th>view</th><th>node</th><th>micro-batches without it</th><th>scores</th>"
      "<th>features</th><th></th></tr>\n";
  std::size_t rows = 0;
  for (const infer::ViewsResult::View& view : result.views) {
    if (rows++ == kMostChartRows) break;
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", view.view,
                        escaped(shown(view.node)), format_count(view.micro_batches_without),
                        format_bytes(view.score_bytes), format_bytes(view.feature_bytes), view.is_lost ? "lost" : "");
  }
  return html + "</table>\n";
}

/// Of an ensemble: how long each of its networks took.
std::string member_rows(const infer::EnsembleResult& result) {
  double longest = 0;
  for (const infer::EnsembleResult::Member& member : result.members) longest = std::max(longest, member.seconds);
  std::vector<ShareRow> rows;
  for (const infer::EnsembleResult::Member& member : result.members) {
    if (rows.size() == kMostChartRows || longest <= 0) break;
    rows.push_back({fmt::format("network {} on {}", rows.size() + 1, shown(member.node)),
                    {{"a", member.seconds / longest, format_seconds(member.seconds)}}});
  }
  return rows.empty() ? "" : "<h2>Networks</h2>\n" + share_rows("how long each network took", rows);
}

std::string plan_section(const infer::PipelineResult& result) {
  const std::string picture = stage_picture(result.stages);
  return picture.empty() ? "" : "<h2>The network over the nodes</h2>\n" + picture;
}

/// Of what streamed through nodes.
std::string streamed_figures(const infer::StreamedResult& result) {
  std::string html = html_figure("latency p50 / p95", fmt::format("{} / {}", format_seconds(result.latency.p50),
                                                                  format_seconds(result.latency.p95)));
  if (result.single_images_per_s)
    html += html_figure("fastest node images/s", format_number(*result.single_images_per_s));
  if (result.agreement) html += html_figure("same answer as one node", format_percent(*result.agreement));
  if (result.lost) html += html_figure("lost images", format_count(*result.lost));
  if (result.missed > 0) html += html_figure("missed their deadline", format_count(result.missed));
  return html;
}

std::string pipeline_figures(const infer::PipelineResult& result) {
  return html_figure("predicted images/s", format_number(result.predicted_images_per_s)) +
         html_figure("predicted time", format_seconds(result.predicted_seconds)) +
         html_figure("limited by", shown(result.limited_by));
}

std::string tile_figures(const infer::TilesResult& result) {
  std::string html = html_figure("predicted latency", format_seconds(result.predicted_latency)) +
                     html_figure("predicted images/s", format_number(result.predicted_images_per_s));
  if (result.single_latency) html += html_figure("latency of one node", format_seconds(*result.single_latency));
  return html;
}

std::string tile_section(const infer::TilesResult& result) {
  const std::string picture = tile_picture(result.teams);
  return picture.empty() ? "" : "<h2>The network in tiles</h2>\n" + picture;
}

std::string tier_figures(const infer::TiersResult& result) {
  const std::string coarse =
      result.coarse_accuracy ? html_figure("accuracy of coarse classes", format_percent(*result.coarse_accuracy)) : "";
  return coarse + html_figure("predicted time", format_seconds(result.predicted_seconds)) +
         html_figure("lost images", format_count(result.lost)) +
         html_figure("scheduler, policy", shown(result.scheduler) + ", " + shown(result.policy));
}

}  // namespace

std::string inference_figures(const InferOutcome& result) {
  std::string html = "<dl>" + html_figure("strategy", shown(result.all.strategy));
  if (result.all.accuracy) html += html_figure("accuracy", format_percent(*result.all.accuracy));
  if (result.all.macro_f1) html += html_figure("macro F1", format_percent(*result.all.macro_f1));
  html += html_figure("images/s", format_number(result.all.images_per_s)) +
          html_figure("time", format_seconds(result.all.seconds));
  if (result.streamed() != nullptr) html += streamed_figures(*result.streamed());
  if (result.pipeline) html += pipeline_figures(*result.pipeline);
  if (result.tiles) html += tile_figures(*result.tiles);
  if (result.tiers) html += tier_figures(*result.tiers);
  if (result.views) html += html_figure("lost images", format_count(result.views->lost));
  return html + "</dl>";
}

std::string inference_sections(const InferenceHistory& history, const std::optional<InferOutcome>& result) {
  const std::string charts = over_time(history);
  std::string html = charts.empty() ? "" : "<h2>Inference</h2>\n" + charts;
  if (!result) return html;
  if (result->pipeline) html += plan_section(*result->pipeline);
  if (result->tiles) html += tile_section(*result->tiles);
  if (result->tiers) html += tier_picture(*result->tiers) + device_rows(*result->tiers);
  if (result->tiers && result->tiers->exits) html += exit_rows(*result->tiers->exits);
  if (result->views) html += exit_rows(result->views->exits) + view_table(*result->views);
  if (result->ensemble) html += member_rows(*result->ensemble);
  return html;
}

}  // namespace mangrove::cli
