#include "mangrove/serve/http/target.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace mangrove::serve {
namespace {

Result<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    const bool has_digits = text.size() - i > 2;
    if (!has_digits || std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2)
      return make_error(Code::invalid_argument, "a '%' in the address has no two hexadecimal digits behind it");
    decoded += static_cast<char>(code);
    i += 2;
  }
  return decoded;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view path_of(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

std::optional<PathValues> match_path(std::string_view pattern, std::string_view target) {
  const std::vector<std::string_view> segments = split(path_of(target), '/');
  const std::vector<std::string_view> wanted = split(pattern, '/');
  if (wanted.size() != segments.size()) return std::nullopt;
  PathValues values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Result<std::string> segment = percent_decoded(segments[i]);
    if (!segment.ok()) return std::nullopt;
    const bool is_name = wanted[i].starts_with('{') && wanted[i].ends_with('}');
    if (!is_name && wanted[i] != *segment) return std::nullopt;
    if (is_name && segment->empty()) return std::nullopt;
    if (is_name) values[std::string(wanted[i].substr(1, wanted[i].size() - 2))] = std::move(*segment);
  }
  return values;
}

Result<std::optional<std::string>> query_value(std::string_view target, std::string_view name) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return std::optional<std::string>();
  for (const std::string_view pair : split(target.substr(question + 1), '&')) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    MG_TRY(std::string value, percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
    return std::optional<std::string>(std::move(value));
  }
  return std::optional<std::string>();
}

}  // namespace mangrove::serve
