#pragma once

#include <string>

#include "mangrove/base/report.h"

namespace mangrove {

/// What metrics.jsonl calls a report: of a line that a strategy has of its own, that line's name.
inline std::string report_name(const Report& report) {
  const std::string begin = R"({"kind":")";
  if (report.kind != ReportKind::line || !report.json.starts_with(begin)) return report_kind_name(report.kind);
  return report.json.substr(begin.size(), report.json.find('"', begin.size()) - begin.size());
}

}  // namespace mangrove
