#pragma once

#include <string>
#include <string_view>

namespace mangrove {

/// Escapes control characters (as \x1b and the like), for a log or a terminal: names and messages come from others, and
/// control characters in them could clear the screen or retitle the window.
/// keep_lines: ends of lines and tabs stay as they are.
std::string printable(std::string_view text, bool keep_lines = false);

}  // namespace mangrove
