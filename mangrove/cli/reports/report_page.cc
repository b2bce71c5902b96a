#include "mangrove/cli/reports/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/node_charts.h"
#include "mangrove/cli/reports/svg_chart.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

// The colours are custom properties, so that the charts follow the reader's light or dark setting.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#667085;--paper:#fff;--line:#e4e7ec;--a:#0b6e4f;--b:#c2410c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#98a2b3;--paper:#14171a;--line:#2c3239;--a:#4fd1a5;--b:#fb923c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1080px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 1rem}h2{font-size:1.15rem;font-weight:600}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:.75rem 1.5rem;margin:0 0 2rem}
dt{color:var(--soft);font-size:.8rem}dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(400px,1fr));gap:1.5rem 2rem}
svg{width:100%;height:auto;overflow:visible}.grid{stroke:var(--line)}text{fill:var(--soft);font-size:11px}
h2{margin:2.5rem 0 .5rem}h3{font-size:1rem;font-weight:600;margin:1rem 0 .25rem}main h3{margin-top:0}
polyline{fill:none;stroke:currentColor;stroke-width:1.8}circle,rect{fill:currentColor}
.legend{color:var(--soft);font-size:.8rem;margin:.25rem 0}.legend b{font-weight:600;margin-right:.5rem}
table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0 1rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.15rem .9rem .15rem 0}th{color:var(--soft);font-weight:500}th:first-child,td:first-child{text-align:left}
.a,.compute{color:var(--a)}.b,.wire{color:var(--b)}.load{color:#d4a017}.encode{color:#7c6fdc}.wait{color:var(--line)}.legend .wait{color:var(--soft)}
.n0{color:#0b8f63}.n1{color:#d2601a}.n2{color:#3b7dd8}.n3{color:#b5487f}.n4{color:#8a8d1a}
.n5{color:#12959f}.n6{color:#c23b3b}.n7{color:#7b5cc4}.n8{color:#8c6239}.n9{color:#5f7285}
)";

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// One key of the lines of a kind, against the epoch that they are at.
Curve curve_of(const std::vector<json>& metrics, const char* kind, const char* key, double scale) {
  Curve curve;
  for (const json& line : metrics) {
    if (!line.is_object() || line.value("kind", "") != kind) continue;
    const auto y = number(line, key), epoch = number(line, "epoch");
    if (!y || !epoch) continue;
    double x = *epoch;
    if (std::string_view(kind) == "progress") {
      const auto done = number(line, "done"), total = number(line, "total"), epochs = number(line, "epochs");
      if (!done || !total || !epochs || *total <= 0) continue;
      x = *done / *total * *epochs;
    }
    curve.push_back({x, *y * scale});
  }
  return curve;
}

std::string chart(const char* title, const char* unit, const Curve& first, const Curve& second) {
  if (first.empty() && second.empty()) return {};
  std::string legend;
  if (!second.empty()) legend = R"( <span class="legend"><b class="a">training</b><b class="b">validation</b></span>)";
  return fmt::format("<section><h3>{}{}</h3>{}</section>\n", title, legend,
                     svg_chart("epoch", unit, {{first, "a"}, {second, "b"}}));
}

std::string figure(const std::string& name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
}

/// Of the first phase of transfer learning.
std::string head_figures(const json& head) {
  const auto percent = [&](const char* key) { return format_percent(number(head, key).value_or(0)); };
  return figure("new head alone: test accuracy", percent("accuracy")) +
         figure("new head alone: macro F1", percent("macro_f1")) +
         figure("new head alone: epochs", fmt::format("{} in {}", head.value("epochs", std::int64_t{0}),
                                                      format_seconds(number(head, "train_seconds").value_or(0))));
}

std::string train_figures(const json& result) {
  const auto percent = [&](const char* key) { return format_percent(number(result, key).value_or(0)); };
  std::string html = "<dl>";
  if (number(result, "accuracy"))  // none where computing was modelled
    html += figure("test accuracy", percent("accuracy")) +
            figure("test loss", fmt::format("{:.4f}", number(result, "test_loss").value_or(0))) +
            figure("macro F1", percent("macro_f1"));
  if (const auto head = result.find("head"); head != result.end() && head->is_object()) html += head_figures(*head);
  if (number(result, "best_epoch"))
    html += figure("best validation", fmt::format("{} (epoch {})", percent("best_validation_accuracy"),
                                                  result["best_epoch"].get<std::int64_t>()));
  html += figure("epochs", std::to_string(result.value("epochs", std::int64_t{0}))) +
          figure("workers × batch", fmt::format("{} × {}", result.value("workers", 0), result.value("batch", 0))) +
          figure("training time", format_seconds(number(result, "train_seconds").value_or(0))) +
          figure("images/s", format_number(number(result, "images_per_s").value_or(0)));
  return html + "</dl>";
}

/// Rows: true classes; columns: predicted ones.
std::string confusion_table(const char* title, const json& result) {
  const auto names = result.value("classes", std::vector<std::string>());
  const json rows = result.value("confusion", json::array());
  constexpr std::size_t kMostClasses = 40;  // that a page has room for
  if (names.empty() || names.size() > kMostClasses || rows.size() != names.size()) return {};
  std::string html = fmt::format("<h2>{}</h2>\n", title) + "<table><tr><th>true \\ predicted</th>";
  for (std::size_t i = 0; i < names.size(); ++i) html += fmt::format("<th>{}</th>", i);
  html += "</tr>\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    html += fmt::format("<tr><td>{} {}</td>", i, escaped(names[i]));
    for (const json& count : rows[i]) html += fmt::format("<td>{}</td>", count.dump());
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string confusion_tables(const json& results) {
  if (!results.is_object() || !results.contains("train")) return {};
  const json& train = results["train"];
  std::string html = confusion_table("Confusion matrix", train);
  if (train.contains("head")) html += confusion_table("Confusion matrix of the new head alone", train["head"]);
  return html;
}

std::string infer_figures(const json& result) {
  const auto percent = [&](const char* key) { return format_percent(number(result, key).value_or(0)); };
  const auto rate = [&](const char* key) { return format_number(number(result, key).value_or(0)); };
  std::string html = "<dl>";
  if (result.contains("accuracy"))
    html += figure("accuracy", percent("accuracy")) + figure("macro F1", percent("macro_f1"));
  html += figure("images/s", rate("images_per_s"));
  if (result.contains("stages")) html += figure("predicted images/s", rate("predicted_images_per_s"));
  if (result.contains("agreement"))
    html += figure("fastest node images/s", rate("single_images_per_s")) +
            figure("same answer as one node", percent("agreement")) + figure("lost images", rate("lost"));
  return html + "</dl>";
}

std::string figures(const json& results) {
  if (!results.is_object() || results.empty())
    return "<p>The run has not ended: it goes on, was stopped, or failed.</p>";
  std::string html;
  if (const auto train = results.find("train"); train != results.end() && train->is_object())
    html += train_figures(*train);
  if (const auto infer = results.find("infer"); infer != results.end() && infer->is_object())
    html += infer_figures(*infer);
  return html;
}

std::string training_charts(const std::vector<json>& metrics) {
  const auto progress = [&](const char* key, double scale) { return curve_of(metrics, "progress", key, scale); };
  const auto validation = [&](const char* key, double scale) { return curve_of(metrics, "epoch", key, scale); };
  const std::string charts = chart("Loss", "", progress("loss", 1), validation("validation_loss", 1)) +
                             chart("Accuracy", "%", progress("accuracy", 100), validation("validation_accuracy", 100)) +
                             chart("Learning rate", "", progress("learning_rate", 1), {}) +
                             chart("Throughput", "images/s", progress("images_per_s", 1), {});
  return charts.empty() ? "" : "<h2>Training</h2>\n<main>\n" + charts + "</main>\n";
}

}  // namespace

std::string report_page(const std::string& title, const std::vector<json>& metrics, const json& results) {
  return "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>" +
         escaped(title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" + escaped(title) + "</h1>\n" +
         figures(results) + training_charts(metrics) + confusion_tables(results) +
         node_sections(node_histories(metrics)) + "</body></html>\n";
}

}  // namespace mangrove::cli
