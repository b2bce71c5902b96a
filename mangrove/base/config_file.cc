#include "mangrove/base/config_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string_view>

#include "mangrove/base/format.h"
#include "mangrove/base/suggestion.h"

namespace mangrove {
namespace {

constexpr std::size_t kMostSettings = 1'000'000;  // of all sections of a file

int line_of(const YAML::Node& node) {
  return node.Mark().line + 1;
}

Result<ConfigFile::Setting> read_setting(const std::string& file, const YAML::Node& key, const YAML::Node& value) {
  if (!value.IsScalar())
    return make_error(Code::invalid_argument,
                      fmt::format("{}:{}: key '{}' needs a single value", file, line_of(key), key.Scalar()));
  return ConfigFile::Setting{key.Scalar(), value.Scalar(), line_of(key)};
}

Status check_repeated(const std::string& file, const std::vector<ConfigFile::Setting>& settings) {
  std::map<std::string_view, int> lines;  // by key
  for (const ConfigFile::Setting& setting : settings)
    if (const auto [first, is_new] = lines.emplace(setting.key, setting.line); !is_new)
      return make_error(Code::invalid_argument, fmt::format("{}:{}: key '{}' is given twice, first in line {}", file,
                                                            setting.line, setting.key, first->second));
  return {};
}

}  // namespace

Status ConfigFile::add_section(const Kind& kind, Section section) {
  const bool is_known = kind.sections.empty() ||
                        std::find(kind.sections.begin(), kind.sections.end(), section.name) != kind.sections.end();
  if (!is_known)
    return make_error(Code::invalid_argument, fmt::format("{}: unknown section '{}'{}", where(section.line),
                                                          section.name, suggestion(section.name, kind.sections)));
  MG_RETURN_IF_ERROR(check_repeated(path_.string(), section.settings));
  if (!names_.insert(section.name).second)
    return make_error(Code::invalid_argument,
                      fmt::format("{}: section '{}' is given twice", where(section.line), section.name));
  sections_.push_back(std::move(section));
  return {};
}

Result<ConfigFile> ConfigFile::load(const fs::path& path, const Kind& kind) {
  MG_TRY(const std::string text, read_file(path));
  return parse(text, path, kind);
}

Result<ConfigFile> ConfigFile::parse(const std::string& text, const fs::path& path, const Kind& kind) {
  ConfigFile file;
  file.path_ = path;
  std::size_t settings = 0;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap())
      return make_error(Code::invalid_argument, fmt::format("{}: not a {}: expected sections such as '{}:'",
                                                            path.string(), kind.name, kind.example));
    for (const auto& entry : root) {
      if (entry.second.IsScalar()) {
        MG_TRY(Setting setting, read_setting(path.string(), entry.first, entry.second));
        file.common_.push_back(std::move(setting));
        continue;
      }
      Section section{entry.first.Scalar(), {}, line_of(entry.first)};
      if (!entry.second.IsMap() && !entry.second.IsNull())
        return make_error(Code::invalid_argument,
                          fmt::format("{}: section '{}' needs keys", file.where(section.line), section.name));
      for (const auto& inner : entry.second) {
        if (++settings > kMostSettings)  // a section can stand in many places, by an alias
          return make_error(Code::invalid_argument, fmt::format("{}: more than {} keys", file.where(section.line),
                                                                format_count(kMostSettings)));
        MG_TRY(Setting setting, read_setting(path.string(), inner.first, inner.second));
        section.settings.push_back(std::move(setting));
      }
      MG_RETURN_IF_ERROR(file.add_section(kind, std::move(section)));
    }
  } catch (const YAML::Exception& error) {
    return make_error(Code::invalid_argument, fmt::format("{}:{}: {}", path.string(), error.mark.line + 1, error.msg));
  }
  MG_RETURN_IF_ERROR(check_repeated(path.string(), file.common_));
  if (file.sections_.empty())
    return make_error(Code::invalid_argument,
                      path.string() + ": no section: expected " +
                          (kind.sections.empty() ? "one such as '" + kind.example + ":'"
                                                 : "one or more of " + join_words(kind.sections)));
  return file;
}

Status ConfigFile::apply(const Section& section, const Keys& keys) const {
  for (const Setting& setting : common_)
    if (keys.find(setting.key) != nullptr)
      MG_RETURN_IF_ERROR(keys.set(setting.key, setting.value).context(where(setting.line)));
  for (const Setting& setting : section.settings)
    MG_RETURN_IF_ERROR(keys.set(setting.key, setting.value).context(where(setting.line)));
  return {};
}

Status ConfigFile::check_common(const std::vector<std::string>& known_keys) const {
  for (const Setting& setting : common_)
    if (std::find(known_keys.begin(), known_keys.end(), setting.key) == known_keys.end())
      return make_error(Code::invalid_argument, fmt::format("{}: unknown key '{}'{}", where(setting.line), setting.key,
                                                            suggestion(setting.key, known_keys)));
  return {};
}

Status ConfigFile::check_read(const std::vector<Keys>& keys) const {
  const auto check = [this](const Setting& setting, const std::vector<Keys>& jobs) {
    return mangrove::check_read(setting.key, jobs).context("key '" + setting.key + "'").context(where(setting.line));
  };
  for (const Setting& setting : common_) MG_RETURN_IF_ERROR(check(setting, keys));
  for (std::size_t i = 0; i < sections_.size(); ++i)
    for (const Setting& setting : sections_[i].settings) MG_RETURN_IF_ERROR(check(setting, {keys[i]}));
  return {};
}

namespace {

using Lists = std::map<std::string, std::vector<std::string>*>;

/// The values of one entry: several of a list.
Result<std::vector<ConfigFile::Setting>> read_entry(const std::string& file, const YAML::Node& key,
                                                    const YAML::Node& value, const Lists& lists) {
  std::vector<ConfigFile::Setting> settings;
  if (!value.IsSequence() || !lists.contains(key.Scalar())) {
    MG_TRY(ConfigFile::Setting setting, read_setting(file, key, value));
    settings.push_back(std::move(setting));
    return settings;
  }
  for (const YAML::Node& element : value) {
    MG_TRY(ConfigFile::Setting setting, read_setting(file, key, element));
    settings.push_back(std::move(setting));
  }
  return settings;
}

Status check_known(const std::string& key, const Keys& keys, const Lists& lists) {
  if (keys.find(key) != nullptr || lists.contains(key)) return {};
  std::vector<std::string> known = keys.names();
  for (const auto& [name, target] : lists) known.push_back(name);
  return make_error(Code::invalid_argument, fmt::format("unknown key '{}'{}", key, suggestion(key, known)));
}

Status apply_setting(const ConfigFile::Setting& setting, const Keys& keys, const Lists& lists) {
  const auto list = lists.find(setting.key);
  if (list == lists.end()) return keys.set(setting.key, setting.value);
  list->second->push_back(setting.value);
  return {};
}

}  // namespace

Status apply_settings_file(const fs::path& path, const Keys& keys, const Lists& lists) {
  MG_TRY(const std::string text, read_file(path));
  std::vector<ConfigFile::Setting> given, all;  // each key, and each value
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return {};
    if (!root.IsMap()) return make_error(Code::invalid_argument, path.string() + ": expected lines of 'key: value'");
    for (const auto& entry : root) {
      given.push_back({entry.first.Scalar(), "", line_of(entry.first)});
      MG_RETURN_IF_ERROR(
          check_known(given.back().key, keys, lists).context(fmt::format("{}:{}", path.string(), given.back().line)));
      MG_TRY(const std::vector<ConfigFile::Setting> settings,
             read_entry(path.string(), entry.first, entry.second, lists));
      all.insert(all.end(), settings.begin(), settings.end());
    }
  } catch (const YAML::Exception& error) {
    return make_error(Code::invalid_argument, fmt::format("{}:{}: {}", path.string(), error.mark.line + 1, error.msg));
  }
  MG_RETURN_IF_ERROR(check_repeated(path.string(), given));
  for (const ConfigFile::Setting& setting : all)
    MG_RETURN_IF_ERROR(apply_setting(setting, keys, lists).context(fmt::format("{}:{}", path.string(), setting.line)));
  return {};
}

}  // namespace mangrove
