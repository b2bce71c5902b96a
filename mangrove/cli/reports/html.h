#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mangrove::cli {

/// The text as HTML, also inside of a quoted attribute. Control characters become spaces; a text that is not UTF-8 has
/// a ? in place of each byte that is not ASCII.
std::string escaped(const std::string& text);

/// The text in at most so many bytes, with "..." at its end where it is cut, which is never within a character.
std::string shortened(std::string_view text, std::size_t most);

/// The longest name of a node or run that a page shows, in bytes.
constexpr std::size_t kLongestName = 200;

/// A whole page: light or dark as the reader's system is; it needs no other file and no script.
/// body: HTML. Its classes: a, b (two series), n0 .. n9 (nodes, runs), and those of the charts.
std::string html_page(const std::string& title, const std::string& body);

/// Colours as CSS has them.
struct PictureColours {
  std::string_view ink, soft, line, a, b;
};
/// The style of pictures, for a file of its own; pages have it.
std::string picture_style(const PictureColours& colours);

/// A name and its value, for a list <dl>.
std::string html_figure(const std::string& name, const std::string& value);

/// A picture under its heading, for <main>.
std::string html_section(const std::string& heading, const std::string& picture);

}  // namespace mangrove::cli
