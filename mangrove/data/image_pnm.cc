#include <algorithm>
#include <charconv>
#include <optional>

#include "mangrove/data/image_formats.h"

namespace mangrove::data {
namespace {

/// The next number of a header: white space and comments (# to the end of the line) before it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  while (!text.empty()) {
    if (text.front() == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (std::string_view(" \t\r\n").find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

/// source: the Netpbm formats, https://netpbm.sourceforge.net/doc/ppm.html
Result<Image> decode_pnm(std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const char kind = text[1];
  if (kind == '2' || kind == '3')
    return make_error(Code::unimplemented, "a plain-text PPM or PGM (P2, P3): expected a binary one (P5, P6)");
  text.remove_prefix(2);
  const auto width = take_number(text), height = take_number(text), highest = take_number(text);
  if (!width || !height || !highest || text.empty())
    return make_error(Code::data_loss, "PPM: expected width, height and highest value behind the first two bytes");
  if (*highest > 255) return make_error(Code::unimplemented, "PPM: 16 bits a channel: expected 8");
  if (*highest < 1) return make_error(Code::data_loss, "PPM: highest value " + std::to_string(*highest));
  text.remove_prefix(1);  // one white space
  MG_TRY(Image image, make_image(*width, *height, kind == '5' ? 1 : 3));
  if (text.size() < image.pixels.size())
    return make_error(Code::data_loss, "PPM: truncated: " + std::to_string(text.size()) + " bytes of pixels found, " +
                                           std::to_string(image.pixels.size()) + " expected");
  std::ranges::transform(text.substr(0, image.pixels.size()), image.pixels.begin(), [&](char c) {
    const std::int64_t value = std::min<std::int64_t>(static_cast<std::uint8_t>(c), *highest);
    return static_cast<std::uint8_t>((value * 255 + *highest / 2) / *highest);
  });
  return image;
}

}  // namespace mangrove::data
