#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mangrove {

/// The candidate with the least edit distance to `word`, or "" where none is near enough to be a slip of the fingers.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "a, b and c"
std::string join_words(std::span<const std::string> words);

/// "; did you mean 'x'?" or "; known: a, b and c": the end of every message about an unknown name.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace mangrove
