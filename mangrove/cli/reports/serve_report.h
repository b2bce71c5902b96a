#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "mangrove/base/units.h"
#include "mangrove/sensors/counts.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::cli {

/// What a server has done from its start to its end.
struct ServeReport {
  serve::TrafficCounts traffic;
  Seconds seconds;
  std::optional<sensors::SensorCounts> sensors;  // with sources

  nlohmann::json json() const;
  std::string text() const;
};

/// One line for a person: the rate and the latencies of the last `seconds`, and how many requests wait now.
std::string serve_line(const serve::TrafficCounts& traffic, Seconds seconds, std::int64_t waiting);

}  // namespace mangrove::cli
