#include "mangrove/cli/reports/place_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/box_picture.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostBoxes = 60;  // of a zone
constexpr std::size_t kMostTasks = 8;   // in a box

Box box_of_device(const PlaceReport::Device& device, const std::vector<std::string>& tasks) {
  Box box{.title = device.name};
  const std::size_t shown = tasks.size() > kMostTasks ? kMostTasks - 1 : tasks.size();
  box.lines.assign(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < tasks.size()) box.lines.push_back(fmt::format("and {} more", tasks.size() - shown));
  if (device.cores > 0 || device.accelerator == 0)
    box.bars.push_back({"a", device.cores, format_percent(device.cores, 0) + " of its cores"});
  if (device.accelerator > 0)
    box.bars.push_back({"b", device.accelerator, format_percent(device.accelerator, 0) + " of its accelerator"});
  if (device.memory_limit)
    box.bars.push_back({"c", static_cast<double>(device.memory) / static_cast<double>(*device.memory_limit),
                        format_bytes(device.memory) + " of " + format_bytes(*device.memory_limit)});
  return box;
}

}  // namespace

std::vector<Drawing> place_drawings(const PlaceReport& report) {
  std::map<std::string, std::vector<std::string>> tasks;  // by device
  for (const auto& task : report.tasks)
    tasks[task.device].push_back(task.service + "/" + task.task +
                                 (task.copy > 1 ? fmt::format(" ({})", task.copy) : ""));
  std::vector<std::pair<std::string, std::vector<Box>>> zones;  // in the order of their first devices
  for (const auto& device : report.devices) {
    auto zone = std::ranges::find(zones, device.zone, &std::pair<std::string, std::vector<Box>>::first);
    if (zone == zones.end()) zone = zones.insert(zones.end(), {device.zone, {}});
    if (zone->second.size() < kMostBoxes) zone->second.push_back(box_of_device(device, tasks[device.name]));
  }
  std::vector<Drawing> drawings;
  for (const auto& [zone, boxes] : zones) {
    const std::string name = zone.empty() ? "devices" : "zone " + zone;
    drawings.push_back(bus_drawing("the tasks on each device: " + name, name, boxes));
  }
  return drawings;
}

}  // namespace mangrove::cli
