#include "mangrove/sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mangrove/base/config_file.h"
#include "mangrove/base/keys.h"
#include "mangrove/base/table.h"
#include "mangrove/sim/lie.h"

namespace mangrove::sim {
namespace {

constexpr std::string_view kRegion = "region ";
constexpr std::string_view kBetween = " - ";
constexpr const char* kCoordinator = "coordinator";

void add_line(Keys& keys, Line& line) {
  keys.add_seconds("delay", line.delay, "one way, e.g. 50ms");
  keys.add_seconds("jitter", line.jitter, "the delay varies by so much to both sides");
  keys.add("loss", line.loss, "share of the packets that are lost", 0, 0.5);
}

/// Devices of one kind.
struct Kind {
  Device device;
  std::int64_t count = 1;  // in each region
  std::string regions;     // separated by commas; empty: the first

  Keys link_keys() {
    Keys keys;
    keys.add("region", regions, "where they are, e.g. europe, asia");
    keys.add_rate("up", device.up, "of the link, from the device, e.g. 10mbit");
    keys.add_rate("down", device.down, "of the link, to the device, e.g. 50mbit");
    keys.add_rate("handling", device.handling, "at which its process packs and unpacks messages, e.g. 800mbit");
    add_line(keys, device.line);
    return keys;
  }
  Keys keys() {
    Keys keys = link_keys();
    keys.add("count", count, "devices of this kind, in each of its regions", 1, kMostDevices);
    keys.add("flops", device.flops, "floating-point operations per second", 1e3);
    keys.add_bytes("memory", device.memory, "memory of a device, e.g. 1GB");
    keys.add("stragglers", device.stragglers, "share of them that are slow", 0, 1);
    keys.add("slowdown", device.slowdown, "of a slow one, times", 1, 1000);
    keys.add("churn", device.churn, "share of them that leaves within an hour", 0, 1);
    keys.add_seconds("away", device.away, "how long they are away on average");
    keys.add("lies", device.lies, "what they do to the updates or answers that they send, e.g. sign_flip");
    keys.add("from", device.from, "hour of the day at which they come", 0, 24);
    keys.add("to", device.to, "hour of the day at which they go", 0, 24);
    return keys;
  }
};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

class Reader {
 public:
  explicit Reader(const ConfigFile& file) : file_(file) {}

  Result<World> read() {
    Kind any;
    MG_RETURN_IF_ERROR(file_.check_common(any.keys().names()));
    for (const auto& section : file_.sections())
      if (section.name.starts_with(kRegion)) MG_RETURN_IF_ERROR(add_region(section));
    if (world_.regions.empty()) world_.regions.push_back({.name = "here", .line = {}});
    Kind coordinator;
    coordinator.device.up = coordinator.device.down = 125e6;
    std::vector<const ConfigFile::Section*> kinds;
    for (const auto& section : file_.sections()) {
      if (section.name.starts_with(kRegion)) continue;
      if (section.name == kCoordinator) {
        MG_RETURN_IF_ERROR(file_.apply(section, coordinator.link_keys()));
        MG_RETURN_IF_ERROR(check(coordinator).context(file_.where(section.line)));
      } else if (section.name.find(kBetween) != std::string::npos) {
        MG_RETURN_IF_ERROR(add_way(section).context(file_.where(section.line)));
      } else {
        kinds.push_back(&section);
      }
    }
    MG_TRY(const std::vector<std::size_t> where, regions_of(coordinator));
    coordinator.device.region = where.front();
    coordinator.device.name = kCoordinator;
    world_.devices.push_back(coordinator.device);
    for (const auto* section : kinds) MG_RETURN_IF_ERROR(add_devices(*section));
    if (world_.devices.size() == 1)
      return make_error(Code::invalid_argument,
                        file_.where(1) + ": no devices: expected a section for a kind of device, such as 'pi:'");
    return std::move(world_);
  }

 private:
  Status add_region(const ConfigFile::Section& section) {
    Region region;
    region.name = trimmed(std::string_view(section.name).substr(kRegion.size()));
    Keys keys;
    add_line(keys, region.line);
    keys.add("hour", region.hour, "of the day, when the simulation begins", 0, 24);
    MG_RETURN_IF_ERROR(file_.apply(section, keys));
    world_.regions.push_back(std::move(region));
    return {};
  }

  Result<std::size_t> find_region(const std::string& name) const {
    MG_TRY(const Region* region,
           find_row(world_.regions, name, "there is no section of the region", Code::invalid_argument));
    return static_cast<std::size_t>(region - world_.regions.data());
  }

  Status add_way(const ConfigFile::Section& section) {
    const auto dash = section.name.find(kBetween);
    MG_TRY(const std::size_t a, find_region(trimmed(std::string_view(section.name).substr(0, dash))));
    MG_TRY(const std::size_t b, find_region(trimmed(std::string_view(section.name).substr(dash + kBetween.size()))));
    Line way;
    Keys keys;
    add_line(keys, way);
    MG_RETURN_IF_ERROR(file_.apply(section, keys));
    if (a == b || !world_.ways.emplace(std::minmax(a, b), way).second)
      return make_error(Code::invalid_argument, "'" + section.name + "': a way is between two regions, and given once");
    return {};
  }

  static Status check(const Kind& kind) {
    if (kind.device.up < 1000 || kind.device.down < 1000)
      return make_error(Code::invalid_argument, "keys 'up' and 'down': a link has at least 8kbit");
    if (kind.device.from >= kind.device.to)
      return make_error(Code::invalid_argument, "key 'from' must be an hour before 'to'");
    if (!kind.device.lies.empty()) MG_RETURN_IF_ERROR(find_lie(kind.device.lies).context("key 'lies'"));
    if (kind.device.away <= 0) return make_error(Code::invalid_argument, "key 'away' must be more than 0");
    return {};
  }

  Result<std::vector<std::size_t>> regions_of(const Kind& kind) const {
    if (kind.regions.empty()) return std::vector<std::size_t>{0};
    std::vector<std::size_t> all;
    for (std::size_t first = 0; first <= kind.regions.size();) {
      const std::size_t comma = std::min(kind.regions.find(',', first), kind.regions.size());
      MG_TRY(const std::size_t region, find_region(trimmed(kind.regions.substr(first, comma - first))));
      all.push_back(region);
      first = comma + 1;
    }
    return all;
  }

  Status add_devices(const ConfigFile::Section& section) {
    const std::string where = file_.where(section.line);
    Kind kind;
    const Keys keys = kind.keys();
    if (keys.find(section.name) != nullptr)
      return make_error(Code::invalid_argument, where + ": key '" + section.name + "' needs a single value");
    MG_RETURN_IF_ERROR(file_.apply(section, keys));
    MG_RETURN_IF_ERROR(check(kind).context(where));
    auto regions = regions_of(kind);
    if (!regions.ok()) return regions.error().context(where + ": key 'region'");
    if (world_.devices.size() + regions->size() * static_cast<std::size_t>(kind.count) > kMostDevices)
      return make_error(Code::invalid_argument, fmt::format("{}: at most {} devices", where, kMostDevices));
    std::int64_t number = 0;
    for (const std::size_t region : *regions) {
      kind.device.region = region;
      for (std::int64_t i = 0; i < kind.count; ++i) {
        kind.device.name = fmt::format("{}-{}", section.name, ++number);
        world_.devices.push_back(kind.device);
      }
    }
    return {};
  }

  const ConfigFile& file_;
  World world_;
};

}  // namespace

Line World::line(std::size_t from, std::size_t to) const {
  const Device& a = devices[from];
  const Device& b = devices[to];
  const Line links = a.line + b.line;
  if (a.region == b.region) return links;
  const auto way = ways.find(std::minmax(a.region, b.region));
  return links + (way != ways.end() ? way->second : regions[a.region].line + regions[b.region].line);
}

Result<World> load_world(const fs::path& path) {
  MG_TRY(const ConfigFile file, ConfigFile::load(path, {"world file", {}, "pi"}));
  return Reader(file).read();
}

}  // namespace mangrove::sim
