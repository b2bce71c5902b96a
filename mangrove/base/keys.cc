#include "mangrove/base/keys.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <limits>

#include "mangrove/base/check.h"
#include "mangrove/base/format.h"
#include "mangrove/base/parse_number.h"
#include "mangrove/base/suggestion.h"

namespace mangrove {
namespace {

/// high: "" where there is no upper bound.
Error out_of_range(const std::string& text, const std::string& low, const std::string& high) {
  const std::string expected = high.empty() ? low + " or more" : "from " + low + " to " + high;
  return make_error(Code::invalid_argument, "'" + text + "' is not " + expected);
}

/// What is too large to be reached is not worth saying.
std::string range_text(const std::string& low, const std::string& high, double most) {
  return most >= 1e9 ? low + " or more" : low + " to " + high;
}

/// In the largest unit that leaves a whole number.
std::string bytes_text(Bytes bytes) {
  for (const auto& [unit, name] : {std::pair{1'000'000'000, "GB"}, {1'000'000, "MB"}, {1'000, "kB"}})
    if (bytes != 0 && bytes % unit == 0) return std::to_string(bytes / unit) + name;
  return std::to_string(bytes);
}

}  // namespace

std::string Key::flag() const {
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Key::description() const {
  const std::string now = is_switch() ? "" : get();
  std::string facts = range;
  if (!now.empty()) facts += (facts.empty() ? "default " : "; default ") + now;
  return facts.empty() ? help : help + " (" + facts + ")";
}

void Keys::add(std::string name, std::string& target, std::string help) {
  add({std::move(name), std::move(help), "TEXT", "",
       [&target](const std::string& text) -> Status {
         target = text;
         return {};
       },
       [&target] { return target; }});
}

void Keys::add(std::string name, std::int64_t& target, std::string help, std::int64_t low, std::int64_t high) {
  add({std::move(name), std::move(help), "N",
       range_text(format_count(low), format_count(high), static_cast<double>(high)),
       [&target, low, high](const std::string& text) -> Status {
         MG_TRY(target, parse_whole_number(text, low, high));
         return {};
       },
       [&target] { return std::to_string(target); }});
  keys_.back().low = static_cast<double>(low);
  keys_.back().high = static_cast<double>(high);
}

void Keys::add(std::string name, double& target, std::string help, double low, double high) {
  add({std::move(name), std::move(help), "NUMBER", range_text(bound_text(low), bound_text(high), high),
       [&target, low, high](const std::string& text) -> Status {
         MG_TRY(target, parse_number(text, low, high));
         return {};
       },
       [&target] { return fmt::format("{}", target); }});
  keys_.back().low = low;
  keys_.back().high = high;
}

void Keys::add(std::string name, bool& target, std::string help) {
  add({std::move(name), std::move(help), "", "",
       [&target](const std::string& text) -> Status {
         if (text != "true" && text != "false")
           return make_error(Code::invalid_argument, fmt::format("'{}' is neither true nor false", text));
         target = text == "true";
         return {};
       },
       [&target] { return target ? "true" : "false"; }});
}

void Keys::add_seconds(std::string name, Seconds& target, std::string help, Seconds low, Seconds high) {
  add({std::move(name), std::move(help), "TIME", "",
       [&target, low, high](const std::string& text) -> Status {
         MG_TRY(const Seconds seconds, parse_seconds(text));
         if (!(seconds >= low && seconds <= high))
           return out_of_range(text, bound_text(low) + "s", high < kNoBound ? bound_text(high) + "s" : "");
         target = seconds;
         return {};
       },
       [&target] { return fmt::format("{}s", target); }});
}

void Keys::add_bytes(std::string name, Bytes& target, std::string help, Bytes low, Bytes high) {
  add({std::move(name), std::move(help), "SIZE", "",
       [&target, low, high](const std::string& text) -> Status {
         MG_TRY(const Bytes bytes, parse_bytes(text));
         if (bytes < low || bytes > high)
           return out_of_range(text, bytes_text(low), high < std::numeric_limits<Bytes>::max() ? bytes_text(high) : "");
         target = bytes;
         return {};
       },
       [&target] { return bytes_text(target); }});
}

void Keys::add_rate(std::string name, BytesPerSecond& target, std::string help) {
  add({std::move(name), std::move(help), "RATE", "",
       [&target](const std::string& text) -> Status {
         MG_TRY(target, parse_rate(text));
         return {};
       },
       [&target] { return fmt::format("{}B/s", target); }});
}

void Keys::add(Key key) {
  if (key.group.empty()) key.group = group_;
  keys_.push_back(std::move(key));
}

Key& Keys::at(std::string_view name) {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name == name; });
  MG_CHECK(found != keys_.end());
  return *found;
}

const Key* Keys::find(std::string_view name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name == name; });
  return found == keys_.end() ? nullptr : &*found;
}

std::vector<std::string> Keys::names() const {
  std::vector<std::string> all_names;
  for (const Key& key : keys_) all_names.push_back(key.name);
  return all_names;
}

Status Keys::set(const std::string& name, const std::string& value) const {
  const Key* key = find(name);
  if (key == nullptr) {
    const auto known = names();
    return make_error(Code::invalid_argument, fmt::format("unknown key '{}'{}", name, suggestion(name, known)));
  }
  return key->set(value).context("key '" + name + "'");
}

bool Keys::is_read(const Key& key) const {
  const Key* const chosen = find("strategy");
  return chosen == nullptr || key.strategies.empty() || std::ranges::count(key.strategies, chosen->get()) > 0;
}

Status check_read(const std::string& key, const std::vector<Keys>& jobs) {
  Status status;
  for (const Keys& keys : jobs) {
    const Key* const found = keys.find(key);
    if (found == nullptr) continue;
    if (keys.is_read(*found)) return {};
    status =
        make_error(Code::invalid_argument, fmt::format("strategy '{}' has no such key; it belongs to {}",
                                                       keys.find("strategy")->get(), join_words(found->strategies)));
  }
  return status;
}

std::string to_yaml(const std::string& section, const Keys& keys) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << section << YAML::Value << YAML::BeginMap;
  for (const Key& key : keys.all())
    if (const std::string value = key.get(); !value.empty() && keys.is_read(key))
      out << YAML::Key << key.name << YAML::Value << value;
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace mangrove
