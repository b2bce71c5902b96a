#include "mangrove/data/sample_bytes.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "mangrove/base/check.h"

namespace mangrove::data {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are kept as they lie in memory");

float value_of(std::uint8_t byte) {
  return static_cast<float>(byte) / 255.0f;
}

}  // namespace

std::string pack_sample(std::span<const float> sample) {
  std::string bytes(sample.size(), '\0');
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const float value = sample[i];
    const auto byte = static_cast<std::uint8_t>(value >= 0 && value <= 1 ? std::lround(value * 255.0f) : 0);
    if (std::bit_cast<std::uint32_t>(value_of(byte)) != std::bit_cast<std::uint32_t>(value))  // -0 is not 0 here
      return {reinterpret_cast<const char*>(sample.data()), sample.size_bytes()};
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

void unpack_sample(std::span<const std::uint8_t> bytes, std::span<float> out) {
  MG_CHECK(bytes.size() == out.size() || bytes.size() == out.size_bytes());
  if (bytes.size() == out.size_bytes()) {
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(bytes[i]);
}

}  // namespace mangrove::data
