#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mangrove {

/// "a, b and c"
std::string join_words(std::span<const std::string> words);

/// "; did you mean 'x'?", of the candidate with the least edit distance to `word`; "" where none is near enough to be a
/// slip of the fingers. For messages about names of which there may be thousands.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean 'x'?" or "; known: a, b and c": the end of every other message about an unknown name.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace mangrove
