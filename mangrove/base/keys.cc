#include "mangrove/base/keys.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

#include "mangrove/base/suggestion.h"

namespace mangrove {
namespace {

/// The whole text as a number within [low, high].
template <class Number>
Result<Number> parse_number(const std::string& text, Number low, Number high, const std::string& expected) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end || !(number >= low && number <= high))
    return make_error(Code::invalid_argument, fmt::format("'{}' is not {}", text, expected));
  return number;
}

std::string describe_range(double low, double high) {
  if (high >= std::numeric_limits<double>::max()) return fmt::format("a number of {} or more", low);
  return fmt::format("a number from {} to {}", low, high);
}

}  // namespace

std::string Key::flag() const {
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

void Keys::add(std::string name, std::string& target, std::string help) {
  keys_.push_back({std::move(name), std::move(help), false,
                   [&target](const std::string& text) -> Status {
                     target = text;
                     return {};
                   },
                   [&target] { return target; }});
}

void Keys::add(std::string name, std::int64_t& target, std::string help, std::int64_t low, std::int64_t high) {
  keys_.push_back({std::move(name), std::move(help), false,
                   [&target, low, high](const std::string& text) -> Status {
                     MG_TRY(target,
                            parse_number(text, low, high, fmt::format("a whole number from {} to {}", low, high)));
                     return {};
                   },
                   [&target] { return std::to_string(target); }});
}

void Keys::add(std::string name, double& target, std::string help, double low, double high) {
  keys_.push_back({std::move(name), std::move(help), false,
                   [&target, low, high](const std::string& text) -> Status {
                     MG_TRY(target, parse_number(text, low, high, describe_range(low, high)));
                     return {};
                   },
                   [&target] { return fmt::format("{}", target); }});
}

void Keys::add(std::string name, bool& target, std::string help) {
  keys_.push_back({std::move(name), std::move(help), true,
                   [&target](const std::string& text) -> Status {
                     if (text != "true" && text != "false")
                       return make_error(Code::invalid_argument, fmt::format("'{}' is neither true nor false", text));
                     target = text == "true";
                     return {};
                   },
                   [&target] { return target ? "true" : "false"; }});
}

void Keys::add_seconds(std::string name, Seconds& target, std::string help) {
  keys_.push_back({std::move(name), std::move(help), false,
                   [&target](const std::string& text) -> Status {
                     MG_TRY(target, parse_seconds(text));
                     return {};
                   },
                   [&target] { return fmt::format("{}s", target); }});
}

void Keys::add_bytes(std::string name, Bytes& target, std::string help) {
  keys_.push_back({std::move(name), std::move(help), false,
                   [&target](const std::string& text) -> Status {
                     MG_TRY(target, parse_bytes(text));
                     return {};
                   },
                   [&target] { return std::to_string(target); }});
}

void Keys::add_rate(std::string name, BytesPerSecond& target, std::string help) {
  keys_.push_back({std::move(name), std::move(help), false,
                   [&target](const std::string& text) -> Status {
                     MG_TRY(target, parse_rate(text));
                     return {};
                   },
                   [&target] { return fmt::format("{}B/s", target); }});
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

std::string to_yaml(const std::string& section, const Keys& keys) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << section << YAML::Value << YAML::BeginMap;
  for (const Key& key : keys.all())
    if (const std::string value = key.get(); !value.empty()) out << YAML::Key << key.name << YAML::Value << value;
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace mangrove
