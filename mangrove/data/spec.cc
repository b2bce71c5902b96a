#include "mangrove/data/spec.h"

#include <algorithm>

#include "mangrove/base/parse_number.h"

namespace mangrove::data {
namespace {

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/// Where the next ",KEY=" is at or after `from`; text.size() where there is none.
std::size_t find_option(std::string_view text, std::size_t from) {
  for (std::size_t comma = text.find(',', from); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    std::size_t end = comma + 1;
    while (end < text.size() && is_key_character(text[end])) ++end;
    if (end > comma + 1 && end < text.size() && text[end] == '=') return comma;
  }
  return text.size();
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_key_character);
}

}  // namespace

Result<DatasetSpec> DatasetSpec::parse(std::string_view text) {
  DatasetSpec spec;
  std::size_t comma = find_option(text, 0);
  const std::string_view head = text.substr(0, comma);
  const std::size_t colon = head.find(':');
  if (is_name(head.substr(0, colon))) {
    spec.name = head.substr(0, colon);
    if (colon != std::string_view::npos) spec.path = head.substr(colon + 1);
  } else if (head.find_first_of("/.") != std::string_view::npos) {
    spec.name = head.ends_with(".csv") ? "csv" : "folder";
    spec.path = head;
  } else {
    spec.name = head;  // of no data set, as whoever looks it up will say
  }
  while (comma < text.size()) {
    const std::size_t next = find_option(text, comma + 1);
    const std::string_view option = text.substr(comma + 1, next - comma - 1);
    const std::size_t equals = option.find('=');
    const std::string key(option.substr(0, equals));
    if (spec.option(key))
      return make_error(Code::invalid_argument,
                        "data '" + std::string(text) + "': option '" + key + "' is given twice");
    spec.options.emplace_back(key, option.substr(equals + 1));
    comma = next;
  }
  return spec;
}

std::string DatasetSpec::text() const {
  std::string text = path.empty() ? name : name + ":" + path;
  for (const auto& [key, value] : options) text += "," + key + "=" + value;
  return text;
}

std::optional<std::string> DatasetSpec::option(std::string_view key) const {
  const auto found = std::ranges::find(options, key, &std::pair<std::string, std::string>::first);
  if (found == options.end()) return std::nullopt;
  return found->second;
}

Result<std::int64_t> DatasetSpec::whole_number(std::string_view key, std::int64_t otherwise, std::int64_t low,
                                               std::int64_t high) const {
  const auto value = option(key);
  if (!value) return otherwise;
  return parse_whole_number(*value, low, high).context("option '" + std::string(key) + "'");
}

Result<double> DatasetSpec::number(std::string_view key, double otherwise, double low, double high) const {
  const auto value = option(key);
  if (!value) return otherwise;
  return parse_number(*value, low, high).context("option '" + std::string(key) + "'");
}

}  // namespace mangrove::data
