#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove {

/// The pieces of a text like "name" or "name(1, 2)", as views into the text.
struct Call {
  std::string_view name;
  std::vector<std::string_view> arguments = {};
};
Call parse_call(std::string_view text);

/// A number between the parentheses of a call.
struct CallParameter {
  std::string_view name;
  double fallback = 0;
  double least = 0, most = 0;
  bool is_whole = false;
};
/// The value of each parameter. Parameters that the call leaves out at its end have their fallback.
/// what: the thing whose parameters they are, for messages, e.g. "codec 'top_k'".
/// errors: invalid_argument (an argument is no number or is out of range, or there is one too many; names it).
Result<std::vector<double>> numbers_of(const Call& call, std::span<const CallParameter> parameters,
                                       const std::string& what);

/// What stands between the parentheses of "name(...)"; nothing where the text is another. The view is into the text.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view name);
/// The same, where it is one whole number.
std::optional<std::int64_t> number_argument_of(std::string_view text, std::string_view name);

}  // namespace mangrove
