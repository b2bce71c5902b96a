#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mangrove {

/// Escapes control characters (as \x1b and the like), for a log or a terminal: names and messages come from others, and
/// control characters in them could clear the screen or retitle the window.
/// keep_lines: ends of lines and tabs stay as they are.
std::string printable(std::string_view text, bool keep_lines = false);

/// How long a text of others may be that is kept, logged or shown, in bytes.
constexpr std::size_t kLongestText = 4096;

/// Cuts a text of others to at most so many bytes, with "..." at its end, and not in the middle of a UTF-8 character.
std::string cut_short(std::string text, std::size_t longest = kLongestText);

}  // namespace mangrove
