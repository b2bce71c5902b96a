#pragma once

#include <string>
#include <string_view>

namespace mangrove {

/// The text, for a log or a terminal: control characters, which can clear a screen or retitle a window, become \x1b and
/// the like. Names and messages come from others. keep_lines: ends of lines and tabs stay as they are.
std::string printable(std::string_view text, bool keep_lines = false);

}  // namespace mangrove
