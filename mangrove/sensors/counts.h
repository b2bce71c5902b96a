#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/sensors/series_window.h"

namespace mangrove::sensors {

/// What has become of the messages of one source since the start.
struct SourceCounts {
  std::string source;
  std::uint64_t received = 0;
  std::uint64_t answered = 0;    // questions of which the network was sure enough; of a window, with its first source
  std::uint64_t undecided = 0;   // and those below the threshold
  std::uint64_t dropped = 0;     // messages that found the queue full
  std::uint64_t invalid = 0;     // messages that could not be read
  std::uint64_t duplicates = 0;  // messages whose id had been seen
  std::uint64_t failed = 0;      // questions that the network refused, or whose answer found no topic
  std::uint64_t reconnects = 0;
  std::uint64_t repetitions = 0;   // messages of CoAP that came once more
  std::uint64_t unsubscribed = 0;  // subscriptions that the broker has refused
  std::uint64_t waiting = 0;       // messages in the queue now
  WindowCounts windows;
};

/// What has become of all that was sent.
struct SensorCounts {
  std::vector<SourceCounts> sources;
  std::uint64_t sent = 0;     // answers and samples that their sink has confirmed
  std::uint64_t waiting = 0;  // those that wait now
  std::uint64_t refused = 0;  // those that their sink, or the rules of MQTT, would never take
  std::uint64_t unsent = 0;   // those that went because there was no room for them
  std::uint64_t disk_errors = 0;
};

/// A counter of a source: its name in reports, and what it counts.
struct SourceCounter {
  const char* name;  // of JSON and, as mangrove_sensors_NAME, of Prometheus
  const char* help;
  std::uint64_t (*value)(const SourceCounts& counts);
  bool is_gauge = false;
};
const std::vector<SourceCounter>& source_counters();

/// A counter of the whole service; its members are as those of SourceCounter.
struct SensorCounter {
  const char* name;
  const char* help;
  std::uint64_t (*value)(const SensorCounts& counts);
  bool is_gauge = false;
};
const std::vector<SensorCounter>& sensor_counters();

/// In the text format of Prometheus, version 0.0.4.
std::string metrics_text(const SensorCounts& counts);

}  // namespace mangrove::sensors
