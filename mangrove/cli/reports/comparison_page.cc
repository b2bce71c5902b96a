#include "mangrove/cli/reports/comparison_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "mangrove/base/format.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/run_results.h"
#include "mangrove/cli/reports/svg_chart.h"

namespace mangrove::cli {
namespace {

using Names = std::vector<std::string>;
using Runs = std::vector<RunRecord>;

constexpr std::size_t kLongestValue = 60;  // of a setting

std::string share_text(double share) {
  return format_percent(share);
}
std::string loss_text(double loss) {
  return fmt::format("{:.4f}", loss);
}
std::string count_text(double count) {
  return format_count(std::llround(std::clamp(count, -1e15, 1e15)));
}
std::string size_text(double bytes) {
  return format_bytes(std::llround(std::clamp(bytes, 0.0, 1e15)));
}

enum class Better { higher, lower, neither };

using Value = std::optional<double>;

Value number(std::int64_t count) {
  return static_cast<double>(count);
}
Value number(double value) {
  return std::isfinite(value) ? Value(value) : std::nullopt;
}
template <class T>
Value number(const std::optional<T>& value) {
  return value ? number(*value) : std::nullopt;
}

/// A figure of what streamed through nodes.
template <class Get>
Value of_streamed(const RunResults& run, const Get& get) {
  const infer::StreamedResult* streamed = run.infer ? run.infer->streamed() : nullptr;
  return streamed != nullptr ? number(get(*streamed)) : std::nullopt;
}

Value lost_of(const RunResults& run) {
  if (run.infer && run.infer->views) return number(run.infer->views->lost);
  if (run.infer && run.infer->tiers) return number(run.infer->tiers->lost);
  return of_streamed(run, [](const infer::StreamedResult& r) { return r.lost; });
}

Value predicted_speed_of(const RunResults& run) {
  if (!run.infer) return std::nullopt;
  if (run.infer->pipeline) return number(run.infer->pipeline->predicted_images_per_s);
  return run.infer->tiles ? number(run.infer->tiles->predicted_images_per_s) : std::nullopt;
}

/// Bytes that all nodes sent.
Value sent_of(const RunResults& run) {
  Value sum;
  for (const RunFacts* facts : {&run.train_facts, &run.infer_facts})
    if (facts->nodes)
      for (const cluster::NodeUsage& node : *facts->nodes) sum = sum.value_or(0) + static_cast<double>(node.sent_bytes);
  return sum;
}

/// A row of the table of results.
struct Figure {
  const char* name;
  Value (*value)(const RunResults& run);
  std::string (*text)(double);
  Better better;
};

constexpr Value kNone = std::nullopt;
constexpr Figure kFigures[] = {
    {"test accuracy", [](const RunResults& r) { return r.train ? number(r.train->accuracy) : kNone; }, &share_text,
     Better::higher},
    {"macro F1", [](const RunResults& r) { return r.train ? number(r.train->macro_f1) : kNone; }, &share_text,
     Better::higher},
    {"test loss", [](const RunResults& r) { return r.train ? number(r.train->test_loss) : kNone; }, &loss_text,
     Better::lower},
    {"best validation accuracy",
     [](const RunResults& r) { return r.train ? number(r.train->best_validation_accuracy) : kNone; }, &share_text,
     Better::higher},
    {"training time", [](const RunResults& r) { return r.train ? number(r.train->train_seconds) : kNone; },
     &format_seconds, Better::lower},
    {"training images/s", [](const RunResults& r) { return r.train ? number(r.train->images_per_s) : kNone; },
     &format_number, Better::higher},
    {"epochs", [](const RunResults& r) { return r.train ? number(r.train->epochs) : kNone; }, &count_text,
     Better::neither},
    {"workers", [](const RunResults& r) { return r.train ? number(r.train->workers) : kNone; }, &count_text,
     Better::neither},
    {"evaluated: accuracy", [](const RunResults& r) { return r.eval ? number(r.eval->accuracy) : kNone; }, &share_text,
     Better::higher},
    {"accuracy", [](const RunResults& r) { return r.infer ? number(r.infer->all.accuracy) : kNone; }, &share_text,
     Better::higher},
    {"images/s", [](const RunResults& r) { return r.infer ? number(r.infer->all.images_per_s) : kNone; },
     &format_number, Better::higher},
    {"predicted images/s", &predicted_speed_of, &format_number, Better::neither},
    {"latency p50",
     [](const RunResults& r) { return of_streamed(r, [](const infer::StreamedResult& s) { return s.latency.p50; }); },
     &format_seconds, Better::lower},
    {"latency p95",
     [](const RunResults& r) { return of_streamed(r, [](const infer::StreamedResult& s) { return s.latency.p95; }); },
     &format_seconds, Better::lower},
    {"time", [](const RunResults& r) { return r.infer ? number(r.infer->all.seconds) : kNone; }, &format_seconds,
     Better::lower},
    {"same answer as one node",
     [](const RunResults& r) { return of_streamed(r, [](const infer::StreamedResult& s) { return s.agreement; }); },
     &share_text, Better::higher},
    {"lost images", &lost_of, &count_text, Better::lower},
    {"sent up",
     [](const RunResults& r) { return r.infer && r.infer->tiers ? number(r.infer->tiers->sent_up_bytes) : kNone; },
     &size_text, Better::lower},
    {"sent by all nodes", &sent_of, &size_text, Better::lower},
};

std::string head_row(const char* first, const Names& names) {
  std::string html = fmt::format("<tr><th>{}</th>", first);
  for (std::size_t i = 0; i < names.size(); ++i)
    html += fmt::format(R"(<th class="{}">{}</th>)", series_style(i), escaped(names[i]));
  return html + "</tr>\n";
}

/// "" where no run has it. The best is in bold, where they differ.
std::string value_row(const char* name, const std::vector<std::optional<double>>& values, std::string (*text)(double),
                      Better better) {
  std::optional<double> best;
  std::set<double> all;
  for (const std::optional<double>& value : values) {
    if (!value) continue;
    all.insert(*value);
    if (!best || (better == Better::higher ? *value > *best : *value < *best)) best = value;
  }
  if (all.empty()) return {};
  std::string html = fmt::format("<tr><td>{}</td>", name);
  for (const std::optional<double>& value : values) {
    const bool is_best = better != Better::neither && all.size() > 1 && value == best;
    const std::string shown = value ? text(*value) : "-";
    html += is_best ? "<td><b>" + shown + "</b></td>" : "<td>" + shown + "</td>";
  }
  return html + "</tr>\n";
}

std::string result_table(const Runs& runs, const Names& names) {
  std::vector<RunResults> results;
  for (const RunRecord& run : runs) results.emplace_back(run.results);
  std::string rows;
  for (const Figure& figure : kFigures) {
    std::vector<Value> values;
    values.reserve(results.size());
    for (const RunResults& run : results) values.push_back(figure.value(run));
    rows += value_row(figure.name, values, figure.text, figure.better);
  }
  std::string html = "<h2>Results</h2>\n<div class=\"table\"><table>" + head_row("", names);
  html += "<tr><td>what</td>";
  for (const RunRecord& run : runs)
    html += "<td>" + escaped(run.title) + (run.results.empty() ? ", has not ended" : "") + "</td>";
  return html + "</tr>\n" + rows + "</table></div>\n";
}

/// Those that not all runs have alike.
std::string setting_table(const Runs& runs, const Names& names) {
  std::set<std::string> keys;
  for (const RunRecord& run : runs)
    for (const auto& [key, value] : run.settings) keys.insert(key);
  std::string rows;
  for (const std::string& key : keys) {
    std::set<std::string> different;
    std::string row = "<tr><td>" + escaped(key) + "</td>";
    for (const RunRecord& run : runs) {
      const auto found = run.settings.find(key);
      const std::string value = found == run.settings.end() ? "-" : found->second;
      different.insert(value);
      row += "<td>" + escaped(shortened(value, kLongestValue)) + "</td>";
    }
    if (different.size() > 1) rows += row + "</tr>\n";
  }
  const bool is_known = std::ranges::any_of(runs, [](const RunRecord& run) { return !run.settings.empty(); });
  if (rows.empty()) return is_known ? "<h2>Settings</h2>\n<p>All have the same settings.</p>\n" : "";
  return "<h2>Settings that differ</h2>\n<div class=\"table\"><table>" + head_row("setting", names) + rows +
         "</table></div>\n";
}

class Charts {
 public:
  Charts(const Runs& runs, const Names& names) : runs_(runs), names_(names) {}

  /// A line for each run that has one.
  void add(const char* heading, const char* x, const char* unit, const std::function<Curve(const RunRecord&)>& of,
           double scale = 1) {
    std::vector<Series> series;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      Curve curve = of(runs_[i]);
      for (auto& [at, value] : curve) value *= scale;
      if (!curve.empty()) series.push_back({std::move(curve), series_style(i), names_[i]});
    }
    if (!series.empty()) html_ += html_section(heading, svg_chart(x, unit, series));
  }

  std::string html() const {
    if (html_.empty()) return {};
    std::string legend;
    for (std::size_t i = 0; i < names_.size(); ++i)
      legend += fmt::format(R"(<b class="{}">{}</b> )", series_style(i), escaped(names_[i]));
    return "<h2>Curves</h2>\n<p class=\"legend\">" + legend + "</p>\n<main>\n" + html_ + "</main>\n";
  }

 private:
  const Runs& runs_;
  const Names& names_;
  std::string html_;
};

/// Of the phase that came last: those before measure.
Curve inference_speed(const RunRecord& run) {
  const auto& phases = run.history.inference.phases();
  return phases.empty() ? Curve() : phases.back().images_per_s.points();
}

Curve latency(const RunRecord& run) {
  const InferenceHistory& inference = run.history.inference;
  if (!inference.latency().empty()) return inference.latency().points();
  return inference.tiers().empty() ? Curve() : inference.tiers().front().latency.points();
}

/// Nodes are sampled at about the same times.
Curve mean_cpu(const RunRecord& run) {
  const std::vector<NodeHistory> nodes = run.history.nodes.all();
  std::size_t points = 0;
  for (const NodeHistory& node : nodes) points = std::max(points, node.cpu.size());
  Curve curve;
  for (std::size_t i = 0; i < points; ++i) {
    double x = 0, y = 0, count = 0;
    for (const NodeHistory& node : nodes)
      if (i < node.cpu.size()) {
        x += node.cpu[i].first;
        y += node.cpu[i].second;
        ++count;
      }
    curve.emplace_back(x / count, y / count);
  }
  std::ranges::sort(curve);
  return curve;
}

std::string curves(const Runs& runs, const Names& names) {
  Charts charts(runs, names);
  const auto training = [](ThinnedCurve TrainingHistory::*curve) {
    return [curve](const RunRecord& run) { return (run.history.training.*curve).points(); };
  };
  charts.add("Loss", "epoch", "", training(&TrainingHistory::loss));
  charts.add("Accuracy in training", "epoch", "%", training(&TrainingHistory::accuracy), 100);
  charts.add("Validation loss", "epoch", "", training(&TrainingHistory::validation_loss));
  charts.add("Validation accuracy", "epoch", "%", training(&TrainingHistory::validation_accuracy), 100);
  charts.add("Validation accuracy over time", "seconds", "%", training(&TrainingHistory::accuracy_by_seconds), 100);
  charts.add("Training throughput", "epoch", "images/s", training(&TrainingHistory::images_per_s));
  charts.add("Inference", "seconds", "images/s", &inference_speed);
  charts.add("Latency", "seconds", "ms", &latency, 1000);
  charts.add("CPU, mean of the nodes", "seconds", "% of a core", &mean_cpu);
  return charts.html();
}

}  // namespace

std::string comparison_page(const Runs& runs, const Names& names) {
  return html_page(format_things(std::ssize(runs), "run") + " side by side",
                   result_table(runs, names) + setting_table(runs, names) + curves(runs, names));
}

}  // namespace mangrove::cli
