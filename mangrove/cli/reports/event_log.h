#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::cli {

/// The first 200 events of a run, as people read them, and how many there were.
class EventLog {
 public:
  /// A line of metrics.jsonl, of any kind. Left out is what is advised, and what nobody needs to read.
  void take(const nlohmann::json& line);

  /// A table for a page; "" where there are no events.
  std::string html() const;

 private:
  struct Event {
    std::optional<Seconds> time;  // since its job began
    std::string text;
    bool is_warning = false;
  };
  std::vector<Event> events_;
  std::int64_t all_ = 0;
};

}  // namespace mangrove::cli
