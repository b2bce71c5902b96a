#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mangrove {

/// What stands between the parentheses of "name(...)"; nothing where the text is another. The view is into the text.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view name);
/// The same, where it is one whole number.
std::optional<std::int64_t> number_argument_of(std::string_view text, std::string_view name);

}  // namespace mangrove
