#include "mangrove/plan/device_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/base/config_file.h"
#include "mangrove/base/suggestion.h"

namespace mangrove::plan {
namespace {

constexpr std::string_view kBetween = " - ";
constexpr double kFastest = 1e6;  // speed

struct Kind {
  ListedDevice listed;
  std::int64_t count = 0;  // 0: one, named after its section

  Keys keys() {
    Device& device = listed.device;
    Keys keys;
    keys.add("count", count, "devices of this kind", 1, kMostDevices);
    keys.add("speed", listed.speed, "times that of the profile's device", 1 / kFastest, kFastest);
    keys.add("profile", listed.profile, "file of its own profile");
    keys.add_bytes("memory", device.memory, "that a process may come to, e.g. 700MB");
    keys.add_rate("rate", device.rate, "of its link, e.g. 100mbit");
    keys.add_seconds("delay", device.delay, "of its link, one way, e.g. 0.2ms");
    keys.add_rate("handling", device.handling, "at which its processor packs and unpacks messages, e.g. 800mbit");
    keys.add("watts", device.watts, "that computing adds");
    return keys;
  }
};

class Reader {
 public:
  Reader(const ConfigFile& file, fs::path folder) : file_(file), folder_(std::move(folder)) {}

  Result<DeviceFile> read() {
    MG_RETURN_IF_ERROR(file_.check_common(Kind().keys().names()));
    for (const auto& section : file_.sections())
      if (section.name.find(kBetween) == std::string::npos) MG_RETURN_IF_ERROR(add_kind(section));
    for (const auto& section : file_.sections())
      if (section.name.find(kBetween) != std::string::npos)
        MG_RETURN_IF_ERROR(add_way(section).context(file_.where(section.line)));
    if (made_.devices.empty())
      return make_error(Code::invalid_argument,
                        file_.where(1) + ": no devices: expected a section for a kind of device, such as 'pi:'");
    return std::move(made_);
  }

 private:
  Status add_kind(const ConfigFile::Section& section) {
    const std::string where = file_.where(section.line);
    Kind kind;
    const Keys keys = kind.keys();
    if (keys.find(section.name) != nullptr)
      return make_error(Code::invalid_argument, where + ": key '" + section.name + "' needs a single value");
    MG_RETURN_IF_ERROR(file_.apply(section, keys));
    if (!kind.listed.profile.empty()) kind.listed.profile = (folder_ / kind.listed.profile).string();
    for (std::int64_t i = 1; i <= std::max<std::int64_t>(kind.count, 1); ++i) {
      kinds_[section.name].push_back(made_.devices.size());
      kind.listed.device.name = kind.count == 0 ? section.name : fmt::format("{}-{}", section.name, i);
      made_.devices.push_back(kind.listed);
    }
    if (made_.devices.size() > kMostDevices)
      return make_error(Code::invalid_argument, fmt::format("{}: more than {} devices", where, kMostDevices));
    return {};
  }

  Result<std::vector<std::size_t>> devices_of(const std::string& kind) const {
    if (const auto found = kinds_.find(kind); found != kinds_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, devices] : kinds_) names.push_back(name);
    return make_error(Code::invalid_argument, fmt::format("there is no kind '{}'{}", kind, suggestion(kind, names)));
  }

  Status add_way(const ConfigFile::Section& section) {
    const auto dash = section.name.find(kBetween);
    MG_TRY(const auto from, devices_of(section.name.substr(0, dash)));
    MG_TRY(const auto to, devices_of(section.name.substr(dash + kBetween.size())));
    Way way;
    Keys keys;
    keys.add_rate("rate", way.rate, "in each direction, e.g. 10mbit");
    keys.add_seconds("delay", way.delay, "one way, besides the links', e.g. 50ms");
    for (const auto& setting : section.settings) MG_RETURN_IF_ERROR(keys.set(setting.key, setting.value));
    for (const std::size_t a : from)
      for (const std::size_t b : to)
        if (a != b && !made_.ways.emplace(std::minmax(a, b), way).second && from != to)
          return make_error(Code::invalid_argument, "'" + section.name + "': this way is given twice");
    return {};
  }

  const ConfigFile& file_;
  const fs::path folder_;
  std::map<std::string, std::vector<std::size_t>> kinds_;
  DeviceFile made_;
};

}  // namespace

Result<DeviceFile> load_devices(const fs::path& path) {
  MG_TRY(const ConfigFile file, ConfigFile::load(path, {"device file", {}, "pi"}));
  return Reader(file, path.parent_path()).read();
}

}  // namespace mangrove::plan
