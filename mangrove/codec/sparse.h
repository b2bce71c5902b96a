#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

/// The parts of a sparsifying codec's messages: a few elements of a vector. All other elements are zero.
namespace mangrove::codec {

/// The number of elements that a fraction stands for: the nearest whole number, but at least one.
std::size_t elements_of(double fraction, std::size_t elements);

/// Appends a number in LEB128: seven bits in each byte, the lowest first; the eighth bit says that more follow.
inline void append_number(std::string& message, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) message.push_back(static_cast<char>(number | 0x80));
  message.push_back(static_cast<char>(number));
}

/// Takes a number off the front. Nothing: there is no number.
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

/// Appends the number of elements, their values as float32, and for each the number of elements that are left out
/// before it. indices: ascending, positions in `values`.
void append_elements(std::string& message, std::span<const std::uint32_t> indices, std::span<const float> values);
/// Takes elements off the front and writes them; other values stay as they are. errors: data_loss.
Status take_elements(std::string_view& message, std::span<float> values);
/// Reads a message that consists of elements alone. All other values become zero. errors: data_loss.
Status decode_elements(std::string_view message, std::span<float> values);

/// The position of the element behind `gap` left-out ones, where `next` is the first candidate. Nothing: it would lie
/// beyond the end.
inline std::optional<std::size_t> skip(std::size_t next, std::optional<std::uint64_t> gap, std::size_t elements) {
  if (!gap || *gap >= elements - next) return std::nullopt;
  return next + *gap;
}

/// A data_loss that says what is wrong with the message.
Error bad_message(const std::string& what);
/// errors: data_loss (a part of the message is left).
Status check_end(std::string_view message);

}  // namespace mangrove::codec
