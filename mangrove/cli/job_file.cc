#include "mangrove/cli/job_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "mangrove/base/nearest.h"

namespace mangrove::cli {
namespace {

int line_of(const YAML::Node& node) {
  return node.Mark().line + 1;
}

Result<JobFile::Setting> read_setting(const std::string& file, const YAML::Node& key, const YAML::Node& value) {
  if (!value.IsScalar())
    return make_error(Code::invalid_argument,
                      fmt::format("{}:{}: key '{}' needs a single value", file, line_of(key), key.Scalar()));
  return JobFile::Setting{key.Scalar(), value.Scalar(), line_of(key)};
}

Status check_repeated(const std::string& file, const std::vector<JobFile::Setting>& settings) {
  for (std::size_t i = 0; i < settings.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (settings[i].key == settings[j].key)
        return make_error(Code::invalid_argument, fmt::format("{}:{}: key '{}' is given twice, first in line {}", file,
                                                              settings[i].line, settings[i].key, settings[j].line));
  return {};
}

}  // namespace

Result<JobFile> JobFile::load(const fs::path& path, const std::vector<std::string>& known_sections) {
  MG_TRY(const std::string text, read_file(path));
  JobFile file;
  file.path_ = path;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap())
      return make_error(Code::invalid_argument, path.string() + ": not a job file: expected sections such as 'train:'");
    for (const auto& entry : root) {
      const std::string name = entry.first.Scalar();
      if (entry.second.IsScalar()) {
        MG_TRY(Setting setting, read_setting(path.string(), entry.first, entry.second));
        file.common_.push_back(std::move(setting));
        continue;
      }
      const int line = line_of(entry.first);
      if (std::find(known_sections.begin(), known_sections.end(), name) == known_sections.end())
        return make_error(Code::invalid_argument, fmt::format("{}: unknown section '{}'{}", file.where(line), name,
                                                              suggestion(name, known_sections)));
      Section section{name, {}, line};
      if (!entry.second.IsMap() && !entry.second.IsNull())
        return make_error(Code::invalid_argument, fmt::format("{}: section '{}' needs keys", file.where(line), name));
      for (const auto& inner : entry.second) {
        MG_TRY(Setting setting, read_setting(path.string(), inner.first, inner.second));
        section.settings.push_back(std::move(setting));
      }
      MG_RETURN_IF_ERROR(check_repeated(path.string(), section.settings));
      for (const Section& other : file.sections_)
        if (other.name == name)
          return make_error(Code::invalid_argument,
                            fmt::format("{}: section '{}' is given twice", file.where(line), name));
      file.sections_.push_back(std::move(section));
    }
  } catch (const YAML::Exception& error) {
    return make_error(Code::invalid_argument, fmt::format("{}:{}: {}", path.string(), error.mark.line + 1, error.msg));
  }
  MG_RETURN_IF_ERROR(check_repeated(path.string(), file.common_));
  if (file.sections_.empty())
    return make_error(Code::invalid_argument,
                      path.string() + ": no section: expected one or more of " + join_words(known_sections));
  return file;
}

Status JobFile::apply(const Section& section, const Keys& keys) const {
  for (const Setting& setting : common_)
    if (keys.find(setting.key) != nullptr)
      MG_RETURN_IF_ERROR(keys.set(setting.key, setting.value).context(where(setting.line)));
  for (const Setting& setting : section.settings)
    MG_RETURN_IF_ERROR(keys.set(setting.key, setting.value).context(where(setting.line)));
  return {};
}

Status JobFile::check_common(const std::vector<std::string>& known_keys) const {
  for (const Setting& setting : common_)
    if (std::find(known_keys.begin(), known_keys.end(), setting.key) == known_keys.end())
      return make_error(Code::invalid_argument, fmt::format("{}: unknown key '{}'{}", where(setting.line), setting.key,
                                                            suggestion(setting.key, known_keys)));
  return {};
}

}  // namespace mangrove::cli
