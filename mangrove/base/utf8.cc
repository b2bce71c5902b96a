#include "mangrove/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace mangrove {

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return false;
    std::uint32_t code = first & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(at + i) & 0xC0) != 0x80) return false;
      code = code << 6 | (byte(at + i) & 0x3F);
    }
    const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (is_overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    at += length;
  }
  return true;
}

}  // namespace mangrove
