#include "mangrove/cli/reports/world_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/cli/reports/box_picture.h"
#include "mangrove/cli/reports/html.h"
#include "mangrove/cli/reports/rate_text.h"

namespace mangrove::cli {
namespace {

constexpr std::size_t kMostAlone = 15;  // devices with a box each
constexpr std::size_t kMostBoxes = 60;

/// Devices of one section of the world file, in one region: they are alike.
struct Kind {
  std::string name;
  std::size_t region = 0;
  std::int64_t count = 0;
  const sim::Device* device = nullptr;  // one of them
};

/// "pi" of "pi-12"
std::string section_of(const std::string& name) {
  return name.substr(0, name.rfind('-'));
}

std::vector<Kind> kinds_of(const sim::World& world, bool is_alone) {
  std::vector<Kind> kinds;
  for (const sim::Device& device : world.devices) {
    const bool is_coordinator = &device == &world.devices.front();
    const std::string name = is_alone || is_coordinator ? device.name : section_of(device.name);
    if (kinds.empty() || kinds.back().name != name || kinds.back().region != device.region)
      kinds.push_back({.name = name, .region = device.region, .count = 0, .device = &device});
    ++kinds.back().count;
  }
  std::ranges::stable_sort(kinds, {}, &Kind::region);
  return kinds;
}

/// What a way does beside its delay.
std::string line_text(const sim::Line& line) {
  std::string text = format_seconds(line.delay);
  if (line.jitter > 0) text += " ∓ " + format_seconds(line.jitter);
  if (line.loss > 0) text += ", " + format_percent(line.loss) + " lost";
  return text;
}

Box box_of(const Kind& kind, bool is_coordinator) {
  const sim::Device& device = *kind.device;
  Box box{.title = kind.count > 1 ? fmt::format("{} × {}", format_count(kind.count), kind.name) : kind.name};
  if (!is_coordinator) box.lines.push_back(flops_text(device.flops));
  if (device.memory > 0) box.lines.push_back(format_bytes(device.memory) + " of memory");
  if (device.stragglers > 0)
    box.lines.push_back(fmt::format("{} slow, {:.3g}x", format_percent(device.stragglers, 0), device.slowdown));
  if (device.churn > 0) box.lines.push_back(format_percent(device.churn, 0) + " leave in an hour");
  if (device.to - device.from < 24) box.lines.push_back(fmt::format("from {:.4g} to {:.4g} h", device.from, device.to));
  if (device.up == device.down) {
    box.way = {rate_text(device.up)};
  } else {
    box.way = {"up " + rate_text(device.up), "down " + rate_text(device.down)};
  }
  if (device.line.delay > 0 || device.line.loss > 0) box.way.push_back(line_text(device.line));
  box.tooltip = fmt::format("{}: up {}, down {}, {}", box.title, rate_text(device.up), rate_text(device.down),
                            line_text(device.line));
  if (is_coordinator) box.style = "a";
  return box;
}

std::string ways_text(const sim::World& world) {
  std::string text;
  for (const auto& [between, line] : world.ways)
    text += fmt::format("{}{} to {}: {}", text.empty() ? "" : "; ", world.regions[between.first].name,
                        world.regions[between.second].name, line_text(line));
  return text.empty() ? "" : "<p class=\"legend\">" + escaped(shortened(text, 4000)) + "</p>\n";
}

}  // namespace

std::string world_picture(const sim::World& world) {
  const std::vector<Kind> kinds = kinds_of(world, world.devices.size() <= kMostAlone);
  std::string html;
  std::size_t drawn = 0;
  for (std::size_t region = 0; region < world.regions.size() && drawn < kMostBoxes; ++region) {
    std::vector<Box> boxes;
    for (const Kind& kind : kinds)
      if (kind.region == region && drawn < kMostBoxes) {
        boxes.push_back(box_of(kind, kind.device == &world.devices.front()));
        ++drawn;
      }
    if (boxes.empty()) continue;
    const sim::Region& where = world.regions[region];
    const std::string bus = world.regions.size() == 1
                                ? where.name
                                : fmt::format("{}, {} to the middle of the world", where.name, line_text(where.line));
    html += bus_picture("the devices in " + where.name, bus, boxes);
  }
  if (drawn < kinds.size()) html += fmt::format("<p>and {} more kinds of devices</p>\n", kinds.size() - drawn);
  return html + ways_text(world);
}

std::string world_page(const std::string& title, const sim::World& world) {
  const auto devices = static_cast<std::int64_t>(world.devices.size()) - 1;
  return html_page(title, "<dl>" + html_figure("devices", format_count(devices)) +
                              html_figure("regions", format_count(std::ssize(world.regions))) + "</dl>" +
                              world_picture(world));
}

}  // namespace mangrove::cli
