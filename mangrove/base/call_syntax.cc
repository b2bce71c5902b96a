#include "mangrove/base/call_syntax.h"

#include <charconv>

namespace mangrove {

std::optional<std::string_view> argument_of(std::string_view text, std::string_view name) {
  const bool has_form = text.starts_with(name) && text.substr(name.size()).starts_with("(") && text.ends_with(")");
  if (!has_form) return std::nullopt;
  return text.substr(name.size() + 1, text.size() - name.size() - 2);
}

std::optional<std::int64_t> number_argument_of(std::string_view text, std::string_view name) {
  const std::optional<std::string_view> digits = argument_of(text, name);
  if (!digits) return std::nullopt;
  std::int64_t number = 0;
  const char* const last = digits->data() + digits->size();
  const auto [end, code] = std::from_chars(digits->data(), last, number);
  return code == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace mangrove
