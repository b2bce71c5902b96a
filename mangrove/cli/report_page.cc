#include "mangrove/cli/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/units.h"
#include "mangrove/cli/svg_chart.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

// The colours are custom properties, so that the charts follow the reader's light or dark setting.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#667085;--paper:#fff;--line:#e4e7ec;--a:#0b6e4f;--b:#c2410c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#98a2b3;--paper:#14171a;--line:#2c3239;--a:#4fd1a5;--b:#fb923c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1080px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 1rem}h2{font-size:1rem;margin:0 0 .25rem;font-weight:600}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:.75rem 1.5rem;margin:0 0 2rem}
dt{color:var(--soft);font-size:.8rem}dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(400px,1fr));gap:1.5rem 2rem}
svg{width:100%;height:auto;overflow:visible}.grid{stroke:var(--line)}text{fill:var(--soft);font-size:11px}
.a{stroke:var(--a)}.b{stroke:var(--b)}polyline{fill:none;stroke-width:1.8}circle.a{fill:var(--a)}circle.b{fill:var(--b)}
.legend{color:var(--soft);font-size:.8rem}.legend b{font-weight:600}.legend .a{color:var(--a)}.legend .b{color:var(--b)}
)";

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    if (c == '<')
      html += "&lt;";
    else if (c == '>')
      html += "&gt;";
    else if (c == '&')
      html += "&amp;";
    else if (c == '"')
      html += "&quot;";
    else
      html += c;
  }
  return html;
}

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

std::string chart(const std::string& title, const std::string& unit, const Curve& first, const Curve& second) {
  if (first.empty() && second.empty()) return {};
  std::string legend;
  if (!second.empty()) legend = R"( <span class="legend"><b class="a">training</b> <b class="b">validation</b></span>)";
  return fmt::format("<section><h2>{}{}</h2>{}</section>\n", escaped(title), legend, svg_chart(unit, first, second));
}

std::string figure(const std::string& name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
}

std::string figures(const json& result) {
  if (!result.is_object()) return "<p>The run has not ended: it was stopped, or failed.</p>";
  const auto percent = [&](const char* key) { return fmt::format("{:.2f} %", 100 * number(result, key).value_or(0)); };
  std::string html = "<dl>" + figure("test accuracy", percent("accuracy")) +
                     figure("test loss", fmt::format("{:.4f}", number(result, "test_loss").value_or(0))) +
                     figure("macro F1", percent("macro_f1"));
  if (number(result, "best_epoch"))
    html += figure("best validation", fmt::format("{} (epoch {})", percent("best_validation_accuracy"),
                                                  result["best_epoch"].get<std::int64_t>()));
  html += figure("epochs", std::to_string(result.value("epochs", std::int64_t{0}))) +
          figure("workers × batch", fmt::format("{} × {}", result.value("workers", 0), result.value("batch", 0))) +
          figure("training time", format_seconds(number(result, "train_seconds").value_or(0))) +
          figure("images/s", fmt::format("{:.0f}", number(result, "images_per_s").value_or(0)));
  return html + "</dl>";
}

}  // namespace

std::string report_page(const std::string& title, const std::vector<json>& metrics, const json& result) {
  const auto progress = [&](const char* key, double scale) { return curve_of(metrics, "progress", key, scale); };
  const auto validation = [&](const char* key, double scale) { return curve_of(metrics, "epoch", key, scale); };
  std::string html =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      escaped(title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" + escaped(title) + "</h1>\n" +
      figures(result) + "<main>\n";
  html += chart("Loss", "", progress("loss", 1), validation("validation_loss", 1));
  html += chart("Accuracy", "%", progress("accuracy", 100), validation("validation_accuracy", 100));
  html += chart("Learning rate", "", progress("learning_rate", 1), {});
  html += chart("Throughput", "images/s", progress("images_per_s", 1), {});
  return html + "</main>\n</body></html>\n";
}

}  // namespace mangrove::cli
