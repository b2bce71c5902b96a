#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::net {

/// A payload of two parts: a short header, e.g. an encoded protobuf message, and an array of bulk data that is copied
/// neither into nor out of that message. Format: u32 little-endian header length, header, body up to the end.
struct PayloadParts {
  std::string_view header;
  std::string_view body;
};

/// The views live as long as `payload`. errors: data_loss (too short for its header).
inline Result<PayloadParts> split_payload(std::string_view payload) {
  if (payload.size() < 4) return make_error(Code::data_loss, "message of " + std::to_string(payload.size()) + " bytes");
  std::uint32_t length = 0;
  for (std::size_t i = 4; i-- > 0;) length = (length << 8) | static_cast<unsigned char>(payload[i]);
  if (length > payload.size() - 4) {
    return make_error(Code::data_loss, "message of " + std::to_string(payload.size()) + " bytes with a header of " +
                                           std::to_string(length));
  }
  return PayloadParts{payload.substr(4, length), payload.substr(4 + length)};
}

/// The front of such a payload, with room for `body_bytes` more.
inline std::string begin_payload(std::string_view header, std::size_t body_bytes) {
  std::string payload;
  payload.reserve(4 + header.size() + body_bytes);
  const auto length = static_cast<std::uint32_t>(header.size());
  for (int shift = 0; shift < 32; shift += 8) payload += static_cast<char>((length >> shift) & 0xff);
  payload += header;
  return payload;
}

/// Appends f32 values, little-endian.
inline void append_floats(std::string& payload, std::span<const float> values) {
  if constexpr (std::endian::native == std::endian::little) {
    payload.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  } else {
    for (const float value : values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (int shift = 0; shift < 32; shift += 8) payload += static_cast<char>((bits >> shift) & 0xff);
    }
  }
}

/// Reads exactly values.size() f32 values. errors: data_loss (other length).
inline Status read_floats(std::string_view bytes, std::span<float> values) {
  if (bytes.size() != values.size_bytes()) {
    return make_error(Code::data_loss, "got " + std::to_string(bytes.size()) + " bytes of f32 values, expected " +
                                           std::to_string(values.size_bytes()));
  }
  if constexpr (std::endian::native == std::endian::little) {
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint32_t bits = 0;
      for (std::size_t k = 4; k-- > 0;) bits = (bits << 8) | static_cast<unsigned char>(bytes[4 * i + k]);
      values[i] = std::bit_cast<float>(bits);
    }
  }
  return {};
}

/// Adds exactly values.size() f32 values to those that are there. errors: data_loss (other length); nothing is added.
inline Status add_floats(std::string_view bytes, std::span<float> values) {
  constexpr std::size_t kAtOnce = 1024;
  if (bytes.size() != values.size_bytes()) return read_floats(bytes, values);
  std::array<float, kAtOnce> some;
  for (std::size_t first = 0; first < values.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, values.size() - first);
    MG_RETURN_IF_ERROR(
        read_floats(bytes.substr(first * sizeof(float), count * sizeof(float)), std::span(some).first(count)));
    for (std::size_t i = 0; i < count; ++i) values[first + i] += some[i];
  }
  return {};
}

}  // namespace mangrove::net
