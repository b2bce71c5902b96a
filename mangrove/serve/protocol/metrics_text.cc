#include "mangrove/serve/protocol/metrics_text.h"

#include <fmt/format.h>

#include <array>

namespace mangrove::serve {
namespace {

double seconds_of(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

double microseconds_of(const DurationCount& counter) {
  return static_cast<double>(counter.nanoseconds / 1000);
}

bool is_always_there(const ModelStatistics& /*statistics*/) {
  return true;
}

/// A number of a model, that is exported under a name of its own.
struct Metric {
  const char* name;
  const char* kind;  // "counter": it only grows; "gauge"
  const char* help;
  double (*value)(const ModelStatistics& statistics);
  bool (*is_there)(const ModelStatistics& statistics) = &is_always_there;
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

/// The same under the names of Triton, for dashboards and autoscalers that know these. Boards of a cluster do not tell
/// how long inputs and outputs took.
/// source: triton-inference-server/server, docs/user_guide/metrics.md, "Inference Request Metrics".
constexpr std::array kTritonMetrics = {
    Metric{"nv_inference_request_success", "counter", "Requests that were answered.",
           [](const ModelStatistics& s) { return static_cast<double>(s.success.count); }},
    Metric{"nv_inference_request_failure", "counter", "Requests that got an error.",
           [](const ModelStatistics& s) { return static_cast<double>(s.fail.count); }},
    Metric{"nv_inference_count", "counter", "Samples that were answered.",
           [](const ModelStatistics& s) { return static_cast<double>(s.inferences); }},
    Metric{"nv_inference_exec_count", "counter", "Batches that were computed.",
           [](const ModelStatistics& s) { return static_cast<double>(s.executions); }},
    Metric{"nv_inference_request_duration_us", "counter", "Microseconds of all answered requests.",
           [](const ModelStatistics& s) { return microseconds_of(s.success); }},
    Metric{"nv_inference_queue_duration_us", "counter", "Microseconds that answered requests have waited.",
           [](const ModelStatistics& s) { return microseconds_of(s.queue); }},
    Metric{"nv_inference_compute_input_duration_us", "counter", "Microseconds that inputs were collected for.",
           [](const ModelStatistics& s) { return microseconds_of(s.compute_input); },
           [](const ModelStatistics& s) { return s.compute_input.nanoseconds > 0; }},
    Metric{"nv_inference_compute_infer_duration_us", "counter", "Microseconds that the network was computed for.",
           [](const ModelStatistics& s) { return microseconds_of(s.compute_infer); }},
    Metric{"nv_inference_compute_output_duration_us", "counter", "Microseconds that outputs were handed out for.",
           [](const ModelStatistics& s) { return microseconds_of(s.compute_output); },
           [](const ModelStatistics& s) { return s.compute_output.nanoseconds > 0; }},
    Metric{"nv_inference_pending_request_count", "gauge", "Requests that wait now.",
           [](const ModelStatistics& s) { return static_cast<double>(s.waiting); }},
};

/// What is exported of one model.
struct Exported {
  std::string labels;  // "{model=...,version=...}"
  ModelStatistics statistics;
};

/// The lines of one metric, of all models that have it.
std::string metric_lines(const Metric& metric, const std::vector<Exported>& models) {
  std::string text = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help, metric.kind);
  for (const Exported& model : models)
    if (metric.is_there(model.statistics))
      text += fmt::format("{}{} {}\n", metric.name, model.labels, metric.value(model.statistics));
  return text;
}

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
  std::vector<Exported> exported;
  exported.reserve(models.size());
  for (const auto& model : models)
    exported.push_back({fmt::format("{{model=\"{}\",version=\"{}\"}}", label_value(model->metadata().name),
                                    label_value(model->metadata().version)),
                        model->statistics()});
  std::string text;
  for (const Metric& metric : kMetrics) text += metric_lines(metric, exported);
  for (const Metric& metric : kTritonMetrics) text += metric_lines(metric, exported);
  constexpr const char* kLatency = "mangrove_serve_latency_seconds";
  text +=
      fmt::format("# HELP {0} From a whole request to its answer, since the start.\n# TYPE {0} summary\n", kLatency);
  for (const double share : {0.5, 0.9, 0.99})
    text += fmt::format("{}{{quantile=\"{}\"}} {}\n", kLatency, share, traffic.quantile(share));
  return text + fmt::format("{}_count {}\n", kLatency, traffic.answered);
}

}  // namespace mangrove::serve
