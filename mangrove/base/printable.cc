#include "mangrove/base/printable.h"

#include <fmt/format.h>

namespace mangrove {

std::string printable(std::string_view text, bool keep_lines) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : '\0');
    if (keep_lines && (byte == '\n' || byte == '\t')) {
      shown += text[at];
    } else if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F in UTF-8
      shown += fmt::format("\\x{:02x}", next);
      ++at;
    } else {
      shown += text[at];
    }
  }
  return shown;
}

std::string cut_short(std::string text, std::size_t longest) {
  constexpr std::string_view kMore = "...";
  constexpr std::size_t kMostInside = 3;  // bytes of a character after its first one
  if (text.size() <= longest) return text;
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
  const std::size_t room = longest - kMore.size();
  std::size_t end = room;
  while (end > 0 && room - end < kMostInside && is_inside(end)) --end;
  if (is_inside(end)) end = room;  // the text is no UTF-8
  text.replace(end, std::string::npos, kMore);
  return text;
}

}  // namespace mangrove
