#include "mangrove/cluster/job_record.h"

#include <utility>

#include "mangrove/cluster/job_report.h"

namespace mangrove::cluster {

void JobRecord::add_event(const NodeEventKind& kind, const std::string& node, const std::string& message, Instant now) {
  const Report& report = unsent_.emplace_back(NodeEvent(kind, node, now - began_, message).report());
  events_.push_back(report.json);
}

/// The result waits for the last heartbeats, which count in it.
std::optional<Report> JobRecord::take(Report report) {
  if (report.kind == ReportKind::result) {
    result_ = std::move(report);
    return std::nullopt;
  }
  if (report.kind == ReportKind::event) events_.push_back(report.json);
  if (report.kind == ReportKind::progress) progress_ = report.json;
  return report;
}

std::vector<Report> JobRecord::take_events() {
  return std::exchange(unsent_, {});
}

Report JobRecord::nodes_report() {
  return cluster::nodes_report(usage_.now(), usage_.take_samples(), job_, began_);
}

Result<std::optional<Report>> JobRecord::take_result() {
  std::optional<Report> result = std::exchange(result_, std::nullopt);
  if (result) {
    MG_TRY(result->json, complete_result(result->json, usage_.overall(), events_));
  }
  return result;
}

}  // namespace mangrove::cluster
