#include "mangrove/cli/reports/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/inference_charts.h"
#include "mangrove/cli/reports/json_values.h"
#include "mangrove/cli/reports/node_charts.h"
#include "mangrove/cli/reports/stage_picture.h"
#include "mangrove/cli/reports/svg_chart.h"
#include "mangrove/cli/reports/world_picture.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

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

std::string percent(const json& object, const char* key) {
  return format_percent(number_or_0(object, key));
}

std::string seconds(const json& object, const char* key) {
  return format_seconds(number_or_0(object, key));
}

/// Of the first phase of transfer learning.
std::string head_figures(const json& head) {
  return html_figure("new head alone: test accuracy", percent(head, "accuracy")) +
         html_figure("new head alone: macro F1", percent(head, "macro_f1")) +
         html_figure("new head alone: epochs",
                     fmt::format("{} in {}", whole_at(head, "epochs"), seconds(head, "train_seconds")));
}

std::string train_figures(const json& result) {
  std::string html = "<dl>";
  if (number_at(result, "accuracy"))  // none where computing was modelled
    html += html_figure("test accuracy", percent(result, "accuracy")) +
            html_figure("test loss", fmt::format("{:.4f}", number_or_0(result, "test_loss"))) +
            html_figure("macro F1", percent(result, "macro_f1"));
  if (const json& head = object_at(result, "head"); !head.empty()) html += head_figures(head);
  if (number_at(result, "best_epoch"))
    html += html_figure("best validation", fmt::format("{} (epoch {})", percent(result, "best_validation_accuracy"),
                                                       whole_at(result, "best_epoch")));
  html +=
      html_figure("epochs", std::to_string(whole_at(result, "epochs"))) +
      html_figure("workers × batch", fmt::format("{} × {}", whole_at(result, "workers"), whole_at(result, "batch"))) +
      html_figure("training time", seconds(result, "train_seconds")) +
      html_figure("images/s", format_number(number_or_0(result, "images_per_s")));
  html += "</dl>";
  if (is_true_at(result, "embedded")) return html;  // then it says little of boards
  const std::string advice = advice_line(object_at(result, "advice"));
  return advice.empty() ? html : html + "<p>Advice: " + escaped(advice) + "</p>\n";
}

std::string eval_figures(const json& result) {
  return "<dl>" + html_figure("evaluated: accuracy", percent(result, "accuracy")) +
         html_figure("evaluated: macro F1", percent(result, "macro_f1")) +
         html_figure("evaluated: images/s", format_number(number_or_0(result, "images_per_s"))) + "</dl>";
}

/// Rows: true classes; columns: predicted ones.
std::string confusion_table(const char* title, const json& result) {
  const json &names = array_at(result, "classes"), &rows = array_at(result, "confusion");
  constexpr std::size_t kMostClasses = 40;  // that a page has room for
  const auto is_row = [&](const json& row) { return row.is_array() && row.size() == names.size(); };
  if (names.empty() || names.size() > kMostClasses || rows.size() != names.size() || !std::ranges::all_of(rows, is_row))
    return {};
  std::string html = fmt::format("<h2>{}</h2>\n", title) + "<div class=\"table\"><table><tr><th>true \\ predicted</th>";
  for (std::size_t i = 0; i < names.size(); ++i) html += fmt::format("<th>{}</th>", i);
  html += "</tr>\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i].is_string() ? names[i].get<std::string>() : "";
    html += fmt::format("<tr><td>{} {}</td>", i, escaped(shortened(name, 100)));
    for (const json& count : rows[i])
      html += fmt::format("<td>{}</td>", count.is_number_integer() ? count.get<std::int64_t>() : 0);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string confusion_tables(const json& results) {
  const json& train = object_at(results, "train");
  return confusion_table("Confusion matrix", train) +
         confusion_table("Confusion matrix of the new head alone", object_at(train, "head"));
}

std::string figures(const json& results) {
  if (results.empty()) return "<p>The run has not ended: it goes on, was stopped, or failed.</p>";
  std::string html;
  if (const json& train = object_at(results, "train"); !train.empty()) html += train_figures(train);
  if (const json& eval = object_at(results, "eval"); !eval.empty()) html += eval_figures(eval);
  if (const json& infer = object_at(results, "infer"); !infer.empty()) html += inference_figures(infer);
  return html;
}

std::string training_charts(const TrainingHistory& training) {
  const std::string charts = chart("Loss", "", training.loss, &training.validation_loss) +
                             chart("Accuracy", "%", training.accuracy, &training.validation_accuracy, 100) +
                             chart("Learning rate", "", training.learning_rate) +
                             chart("Throughput", "images/s", training.images_per_s);
  return charts.empty() ? "" : "<h2>Training</h2>\n<main>\n" + charts + "</main>\n";
}

std::string trained_stages(const json& results) {
  const std::string picture = stage_picture(array_at(object_at(results, "train"), "stages"));
  return picture.empty() ? "" : "<h2>The network over the nodes</h2>\n" + picture;
}

std::string world_section(const RunRecord& run) {
  if (!run.world) return {};
  return "<h2>The virtual world</h2>\n" + world_picture(*run.world) + run.world_history.html();
}

}  // namespace

std::string report_page(const RunRecord& run) {
  return html_page(run.title, figures(run.results) + training_charts(run.history.training) +
                                  trained_stages(run.results) +
                                  inference_sections(run.history.inference, object_at(run.results, "infer")) +
                                  confusion_tables(run.results) + world_section(run) + run.history.events.html() +
                                  node_sections(run.history.nodes.all()));
}

}  // namespace mangrove::cli
