#include "mangrove/sensors/counts.h"

#include <fmt/format.h>

namespace mangrove::sensors {
namespace {

std::string metric_head(const std::string& name, const char* help, bool is_gauge) {
  return fmt::format("# HELP {0} {1}.\n# TYPE {0} {2}\n", name, help, is_gauge ? "gauge" : "counter");
}

std::string metric_name(const char* name, bool is_gauge) {
  return fmt::format("mangrove_sensors_{}{}", name, is_gauge ? "" : "_total");
}

}  // namespace

const std::vector<SourceCounter>& source_counters() {
  using C = SourceCounts;
  static const std::vector<SourceCounter> kCounters = {
      {"received", "Messages that have come", [](const C& c) { return c.received; }},
      {"answered", "Questions that were answered", [](const C& c) { return c.answered; }},
      {"undecided", "Questions whose best class is below the threshold", [](const C& c) { return c.undecided; }},
      {"dropped", "Messages that found the queue full", [](const C& c) { return c.dropped; }},
      {"invalid", "Messages that could not be read", [](const C& c) { return c.invalid; }},
      {"duplicates", "Messages whose id was seen before", [](const C& c) { return c.duplicates; }},
      {"failed", "Questions without an answer", [](const C& c) { return c.failed; }},
      {"reconnects", "Connections that were made again", [](const C& c) { return c.reconnects; }},
      {"repetitions", "Messages of CoAP that came once more", [](const C& c) { return c.repetitions; }},
      {"unsubscribed", "Subscriptions that the broker has refused", [](const C& c) { return c.unsubscribed; }},
      {"late", "Values whose windows were closed", [](const C& c) { return c.windows.late; }},
      {"ahead", "Values from the future", [](const C& c) { return c.windows.ahead; }},
      {"repeated", "Values of a time that there was already", [](const C& c) { return c.windows.duplicate; }},
      {"filled", "Slots of windows that had no value of their own", [](const C& c) { return c.windows.filled; }},
      {"skipped", "Windows that were not asked about", [](const C& c) { return c.windows.skipped; }},
      {"jumps", "Times that the clock of a series was set", [](const C& c) { return c.windows.jumps; }},
      {"evicted", "Series that made room for others", [](const C& c) { return c.windows.evicted; }},
      {"waiting", "Messages that wait now", [](const C& c) { return c.waiting; }, true},
  };
  return kCounters;
}

const std::vector<SensorCounter>& sensor_counters() {
  using C = SensorCounts;
  static const std::vector<SensorCounter> kCounters = {
      {"sent", "Answers and samples that their sink has confirmed", [](const C& c) { return c.sent; }},
      {"refused", "Answers and samples that their sink has refused", [](const C& c) { return c.refused; }},
      {"unsent", "Answers and samples for which there was no room", [](const C& c) { return c.unsent; }},
      {"disk_errors", "Times that the offline buffer could not be used", [](const C& c) { return c.disk_errors; }},
      {"to_send", "Answers and samples that wait now", [](const C& c) { return c.waiting; }, true},
  };
  return kCounters;
}

std::string metrics_text(const SensorCounts& counts) {
  std::string text;
  for (const SourceCounter& counter : source_counters()) {
    const std::string name = metric_name(counter.name, counter.is_gauge);
    text += metric_head(name, counter.help, counter.is_gauge);
    for (const SourceCounts& source : counts.sources)
      text += fmt::format("{}{{source=\"{}\"}} {}\n", name, source.source, counter.value(source));
  }
  for (const SensorCounter& counter : sensor_counters()) {
    const std::string name = metric_name(counter.name, counter.is_gauge);
    text += metric_head(name, counter.help, counter.is_gauge) + fmt::format("{} {}\n", name, counter.value(counts));
  }
  return text;
}

}  // namespace mangrove::sensors
