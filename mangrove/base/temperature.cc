#include "mangrove/base/temperature.h"

#include <algorithm>
#include <fstream>

namespace mangrove {

std::vector<fs::path> temperature_sensors(const fs::path& root) {
  std::vector<fs::path> sensors;
  std::error_code none;
  for (const auto& zone : fs::directory_iterator(root / "sys/class/thermal", none)) {
    if (zone.path().filename().string().starts_with("thermal_zone")) sensors.push_back(zone.path() / "temp");
  }
  return sensors;
}

std::optional<double> hottest_reading(const std::vector<fs::path>& sensors) {
  std::optional<double> hottest;
  for (const fs::path& sensor : sensors) {
    double thousandths = 0;
    if (!(std::ifstream(sensor) >> thousandths)) continue;
    const double degrees = thousandths / 1000;
    if (degrees > -50 && degrees < 200) hottest = std::max(hottest.value_or(degrees), degrees);  // else no reading
  }
  return hottest;
}

}  // namespace mangrove
