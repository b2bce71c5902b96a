#include "mangrove/cluster/job_record.h"

#include <utility>

#include "mangrove/cluster/job_report.h"

namespace mangrove::cluster {

void JobRecord::add_event(const std::string& event, const std::string& node, const std::string& message, Instant now) {
  const std::string json = event_json(event, node, now - began_, message);
  events_.push_back(json);
  unsent_.push_back(json);
}

/// The result waits for the last heartbeats, which count in it.
std::optional<Report> JobRecord::take(Report report) {
  if (report.kind == "result") {
    result_ = std::move(report);
    return std::nullopt;
  }
  if (report.kind == "event") events_.push_back(report.json);
  if (report.kind == "progress") progress_ = report.json;
  return report;
}

std::vector<Report> JobRecord::take_events() {
  std::vector<Report> reports;
  for (std::string& event : std::exchange(unsent_, {}))
    reports.push_back({.kind = "event", .json = std::move(event), .attachment = {}});
  return reports;
}

Report JobRecord::nodes_report() {
  return {.kind = "nodes", .json = nodes_json(usage_.now(), usage_.take_samples(), job_, began_), .attachment = {}};
}

Result<std::optional<Report>> JobRecord::take_result() {
  std::optional<Report> result = std::exchange(result_, std::nullopt);
  if (result) {
    MG_TRY(result->json, complete_result(result->json, usage_.overall(), events_));
  }
  return result;
}

}  // namespace mangrove::cluster
