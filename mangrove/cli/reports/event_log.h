#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/cli/reports/event_text.h"

namespace mangrove::cli {

/// The first 200 events of a run, as people read them, and how many there were.
class EventLog {
 public:
  /// A line of metrics.jsonl, of any kind. Left out is what is advised, and what nobody needs to read.
  void take(const nlohmann::json& line);

  /// A table for a page; "" where there are no events.
  std::string html() const;

 private:
  std::vector<EventText> events_;
  std::int64_t all_ = 0;
};

}  // namespace mangrove::cli
