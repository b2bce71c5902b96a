#include "mangrove/sim/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "mangrove/base/config_file.h"
#include "mangrove/base/keys.h"
#include "mangrove/base/table.h"

namespace mangrove::sim {
namespace {

constexpr FaultKind kKinds[] = {FaultKind::crash, FaultKind::freeze, FaultKind::partition, FaultKind::slow_link};
constexpr Seconds kHour = 3600, kDay = 24 * kHour;

Result<FaultKind> kind_named(const std::string& name) {
  std::vector<std::string> names;
  for (const FaultKind kind : kKinds) {
    if (name == fault_name(kind)) return kind;
    names.emplace_back(fault_name(kind));
  }
  return make_error(Code::invalid_argument, fmt::format("key 'fault': '{}' is none of {}", name, join_words(names)));
}

std::vector<std::string> words_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Result<std::size_t> device_named(const World& world, const std::string& name) {
  MG_TRY(const auto* device, find_row(std::span(world.devices).subspan(1), name, "key 'devices': there is no device",
                                      Code::invalid_argument));
  return static_cast<std::size_t>(device - world.devices.data());
}

Status add_region(const World& world, const std::string& name, Fault& fault) {
  const auto region = std::find_if(world.regions.begin(), world.regions.end(),
                                   [&](const Region& candidate) { return candidate.name == name; });
  if (region == world.regions.end())
    return make_error(Code::invalid_argument, "key 'region': the world has no region '" + name + "'");
  for (std::size_t i = 1; i < world.devices.size(); ++i)
    if (world.devices[i].region == static_cast<std::size_t>(region - world.regions.begin())) fault.devices.push_back(i);
  return {};
}

/// So many of them leave within an hour; the rest follows from the exponential distribution.
double leaves_per_second(const Device& device) {
  return device.churn >= 1 ? 5 / kHour : -std::log(1 - device.churn) / kHour;
}

Seconds night_of(const Device& device) {
  return kDay - (device.to - device.from) * kHour;
}

/// The one that it begins with, or the first one that comes.
std::optional<Fault> first_night(const World& world, std::size_t device) {
  const Device& its = world.devices[device];
  const Seconds night = night_of(its);
  if (night <= 0) return std::nullopt;
  Seconds falls = (its.to - world.regions[its.region].hour) * kHour - kDay;
  while (falls + night <= 0) falls += kDay;
  return Fault{.devices = {device}, .at = std::max(falls, 0.0), .duration = falls + night - std::max(falls, 0.0)};
}

}  // namespace

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::crash:
      return "crash";
    case FaultKind::freeze:
      return "freeze";
    case FaultKind::partition:
      return "partition";
    case FaultKind::slow_link:
      break;
  }
  return "slow_link";
}

Result<std::vector<Fault>> load_faults(const fs::path& path, const World& world) {
  MG_TRY(const ConfigFile file, ConfigFile::load(path, {"fault file", {}, "first"}));
  std::vector<Fault> faults;
  for (const ConfigFile::Section& section : file.sections()) {
    Fault fault;
    std::string kind = "crash", devices, region;
    Keys keys;
    keys.add("fault", kind, "crash, freeze, partition or slow_link");
    keys.add("devices", devices, "separated by commas, e.g. pi-1, pi-2");
    keys.add("region", region, "all devices of it");
    keys.add_seconds("at", fault.at, "since the job began");
    keys.add_seconds("for", fault.duration, "0: for good");
    keys.add("factor", fault.factor, "of slow_link: times slower", 1, 1e6);
    MG_RETURN_IF_ERROR(file.check_common(keys.names()));
    MG_RETURN_IF_ERROR(file.apply(section, keys));
    const std::string where = file.where(section.line);
    auto known = kind_named(kind);
    if (!known.ok()) return known.error().context(where);
    fault.kind = *known;
    for (const std::string& name : words_of(devices)) {
      auto device = device_named(world, name);
      if (!device.ok()) return device.error().context(where);
      fault.devices.push_back(*device);
    }
    if (!region.empty()) MG_RETURN_IF_ERROR(add_region(world, region, fault).context(where));
    if (fault.devices.empty())
      return make_error(Code::invalid_argument, where + ": keys 'devices' or 'region' must name a device");
    faults.push_back(std::move(fault));
  }
  return faults;
}

std::vector<Fault> draw_faults(const World& world, std::uint64_t seed, Seconds within) {
  Random random(seed);
  std::vector<Fault> faults;
  const std::size_t workers = world.devices.size() - 1;
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
    Fault fault;
    fault.kind = kKinds[random.below(std::size(kKinds))];
    const bool is_of_many = fault.kind == FaultKind::partition;
    const std::size_t most = is_of_many ? std::max<std::size_t>(workers / 2, 1) : 1;
    const std::size_t first = random.below(workers), count = 1 + random.below(most);
    for (std::size_t i = 0; i < count; ++i) fault.devices.push_back(1 + (first + i) % workers);
    std::sort(fault.devices.begin(), fault.devices.end());
    fault.at = random.uniform(0, within);
    fault.duration = random.uniform(0, within);
    fault.factor = random.uniform(2, 100);
    const bool is_for_good = fault.kind == FaultKind::crash && fault.devices.front() != 1 && random.below(2) == 0;
    if (is_for_good) fault.duration = 0;
    faults.push_back(std::move(fault));
  }
  return faults;
}

Absences::Absences(const World& world, std::size_t device, std::uint64_t seed)
    : device_(device),
      random_(Random(seed).fork(device)),
      leaves_per_second_(leaves_per_second(world.devices[device])),
      comes_per_second_(1 / world.devices[device].away),
      night_(night_of(world.devices[device])),
      by_night_(first_night(world, device)) {
  draw_churn(0);
}

void Absences::draw_churn(Seconds after) {
  if (leaves_per_second_ <= 0) return;
  const auto draw = [&](double per_second) { return -std::log(1 - random_.uniform()) / per_second; };
  const Seconds leaves = after + draw(leaves_per_second_);
  by_churn_ = Fault{.devices = {device_}, .at = leaves, .duration = draw(comes_per_second_)};
}

std::optional<Fault> Absences::next() {
  const bool is_churn = by_churn_ && (!by_night_ || by_churn_->at <= by_night_->at);
  const std::optional<Fault> next = is_churn ? by_churn_ : by_night_;
  if (is_churn) {
    draw_churn(next->at + next->duration);
  } else if (next) {
    const Seconds ends = next->at + next->duration;
    by_night_->at = ends + kDay - night_;
    by_night_->duration = night_;
  }
  return next;
}

}  // namespace mangrove::sim
