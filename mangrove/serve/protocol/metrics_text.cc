#include "mangrove/serve/protocol/metrics_text.h"

#include <fmt/format.h>

#include <array>

namespace mangrove::serve {
namespace {

double seconds_of(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

/// A number of a model, that is exported under a name of its own.
struct Metric {
  const char* name;
  const char* kind;  // "counter": it only grows; "gauge"
  const char* help;
  double (*value)(const ModelStatistics& statistics);
};
constexpr std::array kMetrics = {
    Metric{"mangrove_serve_requests_total", "counter", "Requests that were answered.",
           [](const ModelStatistics& s) { return static_cast<double>(s.success.count); }},
    Metric{"mangrove_serve_failed_requests_total", "counter", "Requests that got an error.",
           [](const ModelStatistics& s) { return static_cast<double>(s.fail.count); }},
    Metric{"mangrove_serve_refused_requests_total", "counter", "Requests that found the queue full.",
           [](const ModelStatistics& s) { return static_cast<double>(s.refused); }},
    Metric{"mangrove_serve_samples_total", "counter", "Samples that were answered.",
           [](const ModelStatistics& s) { return static_cast<double>(s.inferences); }},
    Metric{"mangrove_serve_batches_total", "counter", "Batches that were computed.",
           [](const ModelStatistics& s) { return static_cast<double>(s.executions); }},
    Metric{"mangrove_serve_request_duration_seconds_total", "counter", "Time of all answered requests.",
           [](const ModelStatistics& s) { return seconds_of(s.success.nanoseconds); }},
    Metric{"mangrove_serve_queue_duration_seconds_total", "counter", "Time that requests have waited.",
           [](const ModelStatistics& s) { return seconds_of(s.queue.nanoseconds); }},
    Metric{"mangrove_serve_compute_duration_seconds_total", "counter", "Time that requests were computed for.",
           [](const ModelStatistics& s) { return seconds_of(s.compute_infer.nanoseconds); }},
    Metric{"mangrove_serve_waiting_requests", "gauge", "Requests that wait now.",
           [](const ModelStatistics& s) { return static_cast<double>(s.waiting); }},
};

}  // namespace

std::string label_value(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string metrics_text(const std::vector<std::shared_ptr<Model>>& models, const TrafficCounts& traffic) {
  std::vector<ModelStatistics> statistics;
  statistics.reserve(models.size());
  for (const auto& model : models) statistics.push_back(model->statistics());
  std::string text;
  for (const Metric& metric : kMetrics) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help, metric.kind);
    for (std::size_t i = 0; i < models.size(); ++i)
      text +=
          fmt::format("{}{{model=\"{}\",version=\"{}\"}} {}\n", metric.name, label_value(models[i]->metadata().name),
                      label_value(models[i]->metadata().version), metric.value(statistics[i]));
  }
  constexpr const char* kLatency = "mangrove_serve_latency_seconds";
  text +=
      fmt::format("# HELP {0} From a whole request to its answer, since the start.\n# TYPE {0} summary\n", kLatency);
  for (const double share : {0.5, 0.9, 0.99})
    text += fmt::format("{}{{quantile=\"{}\"}} {}\n", kLatency, share, traffic.quantile(share));
  return text + fmt::format("{}_count {}\n", kLatency, traffic.answered);
}

}  // namespace mangrove::serve
