#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mangrove/cli/reports/time_histogram.h"

namespace mangrove::cli {

/// What happened in a virtual world, from the lines of its events.jsonl, in bounded memory however many there are.
class WorldHistory {
 public:
  void take(const nlohmann::json& line);

  /// Its messages over time by purpose, and its faults; "" where nothing happened.
  std::string html() const;

 private:
  struct Fault {
    std::string node, kind;
    double begin = 0;
    double duration = 0;  // 0: for good
  };
  std::string fault_picture() const;

  std::map<std::string, TimeHistogram> bytes_;  // by purpose
  std::vector<Fault> faults_;
  std::int64_t all_faults_ = 0;
  double last_ = 0;  // time of an event
};

}  // namespace mangrove::cli
