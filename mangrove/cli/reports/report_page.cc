#include "mangrove/cli/reports/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/inference_charts.h"
#include "mangrove/cli/reports/node_charts.h"
#include "mangrove/cli/reports/run_results.h"
#include "mangrove/cli/reports/stage_picture.h"
#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/cli/reports/world_picture.h"

namespace mangrove::cli {
namespace {

/// Of training, against the epoch.
std::string chart(const char* title, const char* unit, const ThinnedCurve& first, const ThinnedCurve* second = nullptr,
                  double scale = 1) {
  const auto points = [&](const ThinnedCurve& curve) {
    Curve scaled = curve.points();
    for (auto& [x, y] : scaled) y *= scale;
    return scaled;
  };
  const bool has_second = second != nullptr && !second->empty();
  if (first.empty() && !has_second) return {};
  std::string legend;
  if (has_second) legend = R"( <span class="legend"><b class="a">training</b><b class="b">validation</b></span>)";
  return fmt::format("<section><h3>{}{}</h3>{}</section>\n", title, legend,
                     svg_chart("epoch", unit, {{points(first), "a"}, {has_second ? points(*second) : Curve(), "b"}}));
}

/// Of the first phase of transfer learning.
std::string head_figures(const train::TrainResult& head) {
  return html_figure("new head alone: test accuracy", format_percent(head.accuracy.value_or(0))) +
         html_figure("new head alone: macro F1", format_percent(head.macro_f1.value_or(0))) +
         html_figure("new head alone: epochs",
                     fmt::format("{} in {}", head.epochs, format_seconds(head.train_seconds)));
}

std::string train_figures(const RunResults& run) {
  const train::TrainResult& result = *run.train;
  std::string html = "<dl>";
  if (result.accuracy)  // none where computing was modelled
    html += html_figure("test accuracy", format_percent(*result.accuracy)) +
            html_figure("test loss", fmt::format("{:.4f}", result.test_loss.value_or(0))) +
            html_figure("macro F1", format_percent(result.macro_f1.value_or(0)));
  if (run.head) html += head_figures(*run.head);
  if (result.best_epoch)
    html += html_figure(
        "best validation",
        fmt::format("{} (epoch {})", format_percent(result.best_validation_accuracy.value_or(0)), *result.best_epoch));
  html += html_figure("epochs", std::to_string(result.epochs)) +
          html_figure("workers × batch", fmt::format("{} × {}", result.workers, result.batch)) +
          html_figure("training time", format_seconds(result.train_seconds)) +
          html_figure("images/s", format_number(result.images_per_s));
  html += "</dl>";
  if (!result.advice || run.train_facts.is_embedded.value_or(false)) return html;  // then it says little of boards
  const std::string advice = result.advice->sentence();
  return advice.empty() ? html : html + "<p>Advice: " + escaped(advice) + "</p>\n";
}

std::string eval_figures(const EvalReport& result) {
  return "<dl>" + html_figure("evaluated: accuracy", format_percent(result.accuracy)) +
         html_figure("evaluated: macro F1", format_percent(result.macro_f1)) +
         html_figure("evaluated: images/s", format_number(result.images_per_s)) + "</dl>";
}

/// Rows: true classes; columns: predicted ones.
std::string confusion_table(const char* title, const std::optional<train::TrainResult>& result) {
  constexpr std::size_t kMostClasses = 40;  // that a page has room for
  if (!result || !result->confusion) return {};
  const auto& names = result->classes;
  const auto& rows = *result->confusion;
  const auto is_row = [&](const auto& row) { return row.size() == names.size(); };
  if (names.empty() || names.size() > kMostClasses || rows.size() != names.size() || !std::ranges::all_of(rows, is_row))
    return {};
  std::string html = fmt::format("<h2>{}</h2>\n", title) + "<div class=\"table\"><table><tr><th>true \\ predicted</th>";
  for (std::size_t i = 0; i < names.size(); ++i) html += fmt::format("<th>{}</th>", i);
  html += "</tr>\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    html += fmt::format("<tr><td>{} {}</td>", i, escaped(shortened(names[i], 100)));
    for (const std::int64_t count : rows[i]) html += fmt::format("<td>{}</td>", count);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string confusion_tables(const RunResults& run) {
  return confusion_table("Confusion matrix", run.train) +
         confusion_table("Confusion matrix of the new head alone", run.head);
}

std::string figures(const RunResults& run, bool has_ended) {
  if (!has_ended) return "<p>The run has not ended: it goes on, was stopped, or failed.</p>";
  std::string html;
  if (run.train) html += train_figures(run);
  if (run.eval) html += eval_figures(*run.eval);
  if (run.infer) html += inference_figures(*run.infer);
  for (const std::string& why : run.unreadable)
    html += "<p>Not readable here: " + escaped(shortened(why, 200)) + "</p>\n";
  return html;
}

std::string training_charts(const TrainingHistory& training) {
  const std::string charts = chart("Loss", "", training.loss, &training.validation_loss) +
                             chart("Accuracy", "%", training.accuracy, &training.validation_accuracy, 100) +
                             chart("Learning rate", "", training.learning_rate) +
                             chart("Throughput", "images/s", training.images_per_s) +
                             chart("Privacy spent", "epsilon", training.epsilon);
  return charts.empty() ? "" : "<h2>Training</h2>\n<main>\n" + charts + "</main>\n";
}

std::string trained_stages(const RunResults& run) {
  if (!run.train || !run.train->stages) return {};
  const std::string picture = stage_picture(*run.train->stages);
  return picture.empty() ? "" : "<h2>The network over the nodes</h2>\n" + picture;
}

std::string world_section(const RunRecord& run) {
  if (!run.world) return {};
  return "<h2>The virtual world</h2>\n" + world_picture(*run.world) + run.world_history.html();
}

}  // namespace

std::string report_page(const RunRecord& run) {
  const RunResults results(run.results);
  return html_page(run.title, figures(results, !run.results.empty()) + training_charts(run.history.training) +
                                  trained_stages(results) + inference_sections(run.history.inference, results.infer) +
                                  confusion_tables(results) + world_section(run) + run.history.events.html() +
                                  node_sections(run.history.nodes.all()));
}

}  // namespace mangrove::cli
