#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

/// What the messages of sparsifying codecs consist of: a few elements of a vector, the others being zero.
namespace mangrove::codec {

/// How many a fraction of them is: the nearest whole number, but at least one.
std::size_t elements_of(double fraction, std::size_t elements);

/// Seven bits in a byte, the lowest first; the eighth says that more follow (LEB128).
inline void append_number(std::string& message, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) message.push_back(static_cast<char>(number | 0x80));
  message.push_back(static_cast<char>(number));
}

/// Takes it off the front; nothing if there is none.
inline std::optional<std::uint64_t> take_number(std::string_view& message) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !message.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

/// Their count, their values as float32, and for each how many elements before it are left out.
/// indices: rising, of `values`.
void append_elements(std::string& message, std::span<const std::uint32_t> indices, std::span<const float> values);
/// Takes them off the front; other values stay as they are. errors: data_loss.
Status take_elements(std::string_view& message, std::span<float> values);
/// Of a message that is nothing else; other values become zero. errors: data_loss.
Status decode_elements(std::string_view message, std::span<float> values);

/// The place of the element that comes after `gap` others, `next` being the first that may: nothing if that is beyond
/// the end.
inline std::optional<std::size_t> skip(std::size_t next, std::optional<std::uint64_t> gap, std::size_t elements) {
  if (!gap || *gap >= elements - next) return std::nullopt;
  return next + *gap;
}

/// A data_loss that says what is wrong with the message.
Error bad_message(const std::string& what);
/// errors: data_loss (something is left).
Status check_end(std::string_view message);

}  // namespace mangrove::codec
