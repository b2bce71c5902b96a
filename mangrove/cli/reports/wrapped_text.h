#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mangrove::cli {

/// The text broken between words into lines of at most 80 columns, with a line break at its end. The first line begins
/// in column `indent`, behind what is there already, and the others begin below it. Blanks in a row become one. A word
/// that is longer than a line stays whole.
std::string wrapped(std::string_view text, std::size_t indent);

/// A report on a terminal of `columns` columns: lines that are longer are broken between words, and go on below the
/// last column of their row. Shorter lines stay as they are, and so do words that are longer than a line.
std::string folded(std::string_view report, std::size_t columns);

}  // namespace mangrove::cli
