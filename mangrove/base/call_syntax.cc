#include "mangrove/base/call_syntax.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace mangrove {
namespace {

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string range_of(const CallParameter& parameter) {
  std::string text = parameter.is_whole ? "a whole number" : "a number";
  char buffer[2][32];
  for (const auto& [end, value] : {std::pair{buffer[0], parameter.least}, {buffer[1], parameter.most}})
    *std::to_chars(end, end + 31, value).ptr = '\0';
  return text + " from " + buffer[0] + " to " + buffer[1];
}

}  // namespace

Call parse_call(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {text};
  Call call{text.substr(0, open)};
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = inside.find(',');
    is_last = comma == std::string_view::npos;
    std::string_view argument = inside.substr(0, comma);
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    call.arguments.push_back(argument);
    if (!is_last) inside.remove_prefix(comma + 1);
  }
  return call;
}

Result<std::vector<double>> numbers_of(const Call& call, std::span<const CallParameter> parameters,
                                       const std::string& what) {
  if (call.arguments.size() > parameters.size()) {
    return make_error(Code::invalid_argument, what + " has " + std::to_string(parameters.size()) + " parameters, got " +
                                                  std::to_string(call.arguments.size()));
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const CallParameter& parameter = parameters[i];
    values.push_back(parameter.fallback);
    if (i >= call.arguments.size()) continue;
    const std::optional<double> given = number_in(call.arguments[i]);
    const bool fits = given && *given >= parameter.least && *given <= parameter.most &&
                      (!parameter.is_whole || *given == std::floor(*given));
    if (!fits) {
      return make_error(Code::invalid_argument, what + ": " + std::string(parameter.name) + " must be " +
                                                    range_of(parameter) + ", got '" + std::string(call.arguments[i]) +
                                                    "'");
    }
    values.back() = *given;
  }
  return values;
}

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
