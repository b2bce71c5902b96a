#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/keys.h"

namespace mangrove {

/// A YAML file of settings: sections, each with keys and values, and keys outside sections, which hold for every
/// section that has them. docs/jobs.md shows examples.
class ConfigFile {
 public:
  /// What is read, for its checks and messages.
  struct Kind {
    std::string name;                   // "job file"
    std::vector<std::string> sections;  // the known ones; empty: sections have names of their own
    std::string example;                // a section's name
  };
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
  /// given twice, more than a million keys; names file and line).
  static Result<ConfigFile> load(const fs::path& path, const Kind& kind);
  /// The same of what was read there already. errors: invalid_argument.
  static Result<ConfigFile> parse(const std::string& text, const fs::path& path, const Kind& kind);

  const std::vector<Section>& sections() const { return sections_; }
  /// Sets `keys` from the common keys that they have, then from the section's own.
  /// errors: invalid_argument: names file, line, key and the nearest known one.
  Status apply(const Section& section, const Keys& keys) const;
  /// A common key that no section has is a mistake. errors: invalid_argument.
  Status check_common(const std::vector<std::string>& known_keys) const;
  /// So is a key of a section that the strategy which was chosen in the end does not read, and a common one that is
  /// read in none. keys: of each of sections(). errors: invalid_argument: names file, line, key and its strategies.
  Status check_read(const std::vector<Keys>& keys) const;
  /// "FILE:LINE"
  std::string where(int line) const { return path_.string() + ":" + std::to_string(line); }

 private:
  Status add_section(const Kind& kind, Section section);
  fs::path path_;
  std::vector<Setting> common_;
  std::vector<Section> sections_;
  std::set<std::string> names_;  // of sections_
};

/// Sets `keys` from a YAML file of "key: value", without sections. lists: keys that take several values, "key: [a, b]",
/// and where these are added. A file without a key sets nothing.
/// errors: not_found; invalid_argument (not YAML, an unknown key or one that is given twice, a value that does not fit;
/// names file, line, key and the nearest known one).
Status apply_settings_file(const fs::path& path, const Keys& keys,
                           const std::map<std::string, std::vector<std::string>*>& lists = {});

}  // namespace mangrove
