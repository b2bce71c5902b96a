#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/cli/keys.h"

namespace mangrove::cli {

/// A job file: YAML, one section per command to run (train, eval, infer), in their order in the file, each with that
/// command's keys. Keys outside sections (e.g. data, local) hold for every section that has them. docs/jobs.md shows
/// examples.
class JobFile {
 public:
  struct Setting {
    std::string key;
    std::string value;
    int line = 0;
  };
  struct Section {
    std::string name;
    std::vector<Setting> settings;
    int line = 0;
  };

  /// errors: not_found; invalid_argument (not YAML, unknown section, no section, a value that is not a scalar, a key
  /// given twice; names file and line).
  static Result<JobFile> load(const fs::path& path, const std::vector<std::string>& known_sections);

  const std::vector<Section>& sections() const { return sections_; }
  /// Sets `keys` from the common keys that they have, then from the section's own.
  /// errors: invalid_argument: names file, line, key and the nearest known one.
  Status apply(const Section& section, const Keys& keys) const;
  /// A common key that no section has is a mistake. errors: invalid_argument.
  Status check_common(const std::vector<std::string>& known_keys) const;

 private:
  std::string where(int line) const { return path_.string() + ":" + std::to_string(line); }
  fs::path path_;
  std::vector<Setting> common_;
  std::vector<Section> sections_;
};

}  // namespace mangrove::cli
