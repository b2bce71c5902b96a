#include "mangrove/sensors/counts.h"

#include <gtest/gtest.h>

#include <string>

namespace mangrove::sensors {
namespace {

TEST(SensorMetrics, HaveALineForEachSourceAndCounter) {
  SensorCounts counts;
  counts.sent = 5;
  counts.sources.resize(2);
  counts.sources[0].source = "air";
  counts.sources[0].received = 7;
  counts.sources[1].source = "soil";
  counts.sources[1].windows.late = 3;
  const std::string text = metrics_text(counts);
  for (const char* line :
       {"mangrove_sensors_received_total{source=\"air\"} 7\n", "mangrove_sensors_received_total{source=\"soil\"} 0\n",
        "mangrove_sensors_late_total{source=\"soil\"} 3\n", "mangrove_sensors_sent_total 5\n",
        "# TYPE mangrove_sensors_waiting gauge\n", "# TYPE mangrove_sensors_sent_total counter\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace mangrove::sensors
