#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove {

/// One setting of a command: a flag on the command line (--learning-rate) and a key in a job file (learning_rate).
struct Key {
  std::string name;  // learning_rate
  std::string help;
  bool is_switch = false;                         // true or false; the bare flag means true
  std::function<Status(const std::string&)> set;  // from its text form; the error says what was expected
  std::function<std::string()> get;               // text form, such that set(get()) changes nothing

  std::string flag() const;  // --learning-rate
};

/// The settings of a command, declared once: the command line, job files, --help and the saved job.yaml all read this
/// list. The targets must outlive the Keys.
class Keys {
 public:
  void add(std::string name, std::string& target, std::string help);
  void add(std::string name, std::int64_t& target, std::string help, std::int64_t low, std::int64_t high);
  void add(std::string name, double& target, std::string help, double low = 0,
           double high = std::numeric_limits<double>::max());
  /// true or false.
  void add(std::string name, bool& target, std::string help);
  /// "30s", "500ms": see parse_seconds.
  void add_seconds(std::string name, Seconds& target, std::string help);
  /// "256MB": see parse_bytes.
  void add_bytes(std::string name, Bytes& target, std::string help);
  /// "100mbit": see parse_rate.
  void add_rate(std::string name, BytesPerSecond& target, std::string help);

  const std::vector<Key>& all() const { return keys_; }
  const Key* find(std::string_view name) const;
  std::vector<std::string> names() const;

  /// errors: invalid_argument: unknown key (with the nearest known one), or a value that does not fit; names the key.
  Status set(const std::string& name, const std::string& value) const;

 private:
  std::vector<Key> keys_;
};

/// The settings as the lines of a job file's section, "  key: value".
std::string to_yaml(const std::string& section, const Keys& keys);

}  // namespace mangrove
