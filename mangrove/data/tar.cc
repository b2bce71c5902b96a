#include "mangrove/data/tar.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mangrove::data {
namespace {

constexpr std::size_t kTarBlock = 512;  // of everything in a tar archive

/// A header's number: octal digits, then a space or zero.
std::optional<std::size_t> octal(std::string_view field) {
  std::size_t number = 0, digits = 0;
  for (const char c : field) {
    if (c < '0' || c > '7') {
      if (c == ' ' && digits == 0) continue;
      break;
    }
    number = number * 8 + static_cast<std::size_t>(c - '0');
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  return number;
}

/// The sum of the header's bytes, its own field taken as spaces.
bool is_header(std::string_view block) {
  std::size_t sum = 8 * ' ';
  for (std::size_t i = 0; i < kTarBlock; ++i)
    if (i < 148 || i >= 156) sum += static_cast<std::uint8_t>(block[i]);
  return octal(block.substr(148, 8)) == sum;
}

std::string_view file_name(std::string_view header) {
  const std::string_view path = header.substr(0, std::min<std::size_t>(header.find('\0'), 100));
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Result<std::string_view> find_in_tar(std::string_view archive, std::string_view name) {
  for (std::size_t at = 0; at + kTarBlock <= archive.size();) {
    const std::string_view header = archive.substr(at, kTarBlock);
    if (std::ranges::all_of(header, [](char c) { return c == '\0'; })) break;  // the end
    const auto size = octal(header.substr(124, 12));
    if (!is_header(header) || !size)
      return make_error(Code::data_loss, "not a tar archive: bad header at byte " + std::to_string(at));
    at += kTarBlock;
    if (*size > archive.size() - at)
      return make_error(Code::data_loss, "tar archive truncated at byte " + std::to_string(archive.size()));
    const bool regular = header[156] == '0' || header[156] == '\0';
    if (regular && file_name(header) == name) return archive.substr(at, *size);
    at += (*size + kTarBlock - 1) / kTarBlock * kTarBlock;
  }
  return make_error(Code::not_found, "no file '" + std::string(name) + "' in the archive");
}

}  // namespace mangrove::data
