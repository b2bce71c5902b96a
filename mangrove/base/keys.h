#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove {

/// One setting of a command: a flag on the command line (--learning-rate) and a key in a job file (learning_rate).
struct Key {
  std::string name;   // learning_rate
  std::string help;   // a clause without a full stop
  std::string value;  // what stands for its value in --help: N, NUMBER, TEXT, TIME, SIZE, RATE; "" of a switch
  std::string range;  // "1 to 1,048,576", "0 or more"; "": any text
  std::function<Status(const std::string&)> set;  // from its text form; the error says what was expected
  std::function<std::string()> get;               // text form, such that set(get()) changes nothing
  std::string group = {};                         // heading in --help
  std::vector<std::string> strategies = {};       // that read it; empty: all do
  std::string page = {};                          // where docs/ says more; may be empty
  std::vector<std::string> choices = {};          // the names of the table that it takes a name of; empty: of none
  double low = -std::numeric_limits<double>::infinity();  // of a number, as `range` says it
  double high = std::numeric_limits<double>::infinity();

  bool is_switch() const { return value.empty(); }  // true or false; the bare flag means true
  std::string flag() const;                         // --learning-rate
  /// "samples per worker and step (1 to 1,048,576; default 64)": help, range and the value that it has now.
  std::string description() const;
};

/// The whole numbers that a key takes.
struct WholeRange {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();  // may be taken too
};

/// The settings of a command, declared once: the command line, job files, --help and the saved job.yaml all read this
/// list. The targets must outlive the Keys.
class Keys {
 public:
  /// Keys that are added from now on stand under this heading.
  void begin_group(std::string group) { group_ = std::move(group); }

  void add(std::string name, std::string& target, std::string help);
  void add(std::string name, std::int64_t& target, std::string help, std::int64_t low, std::int64_t high);
  void add(std::string name, std::int64_t& target, std::string help, WholeRange range) {
    add(std::move(name), target, std::move(help), range.low, range.high);
  }
  void add(std::string name, double& target, std::string help, double low = 0,
           double high = std::numeric_limits<double>::max());
  /// true or false.
  void add(std::string name, bool& target, std::string help);
  /// "30s", "500ms": see parse_seconds.
  void add_seconds(std::string name, Seconds& target, std::string help, Seconds low = 0,
                   Seconds high = std::numeric_limits<double>::max());
  /// "256MB": see parse_bytes.
  void add_bytes(std::string name, Bytes& target, std::string help, Bytes low = 0,
                 Bytes high = std::numeric_limits<Bytes>::max());
  /// "100mbit": see parse_rate.
  void add_rate(std::string name, BytesPerSecond& target, std::string help);
  /// Any other; one without a group stands under the heading of this place.
  void add(Key key);

  const std::vector<Key>& all() const { return keys_; }
  const Key* find(std::string_view name) const;
  /// To say more about a key that has been added. It must be there.
  Key& at(std::string_view name);
  std::vector<std::string> names() const;

  /// Whether the chosen strategy (key "strategy") reads this key; so it is where there is nothing to choose.
  bool is_read(const Key& key) const;

  /// errors: invalid_argument: unknown key (with the nearest known one), or a value that does not fit; names the key.
  Status set(const std::string& name, const std::string& value) const;

 private:
  std::vector<Key> keys_;
  std::string group_;
};

/// A key that would be ignored is a mistake. errors: invalid_argument: of these `jobs` some have the key, and none of
/// them has a strategy that reads it; says which strategies do.
Status check_read(const std::string& key, const std::vector<Keys>& jobs);

/// The settings as the lines of a job file's section, "  key: value", without those that its strategy does not read.
std::string to_yaml(const std::string& section, const Keys& keys);

}  // namespace mangrove
