#pragma once

#include <cstdint>
#include <cstring>

#include "mangrove/codec/partwise.h"

namespace mangrove::codec {

/// Sends each value in 16 bits: `narrow` turns its 32 bits into 16, and `widen` turns them into a float again. Both
/// have no branches, and bits are copied in and out, so that GCC vectorises the loops.
template <std::uint16_t (*narrow)(std::int32_t), float (*widen)(std::uint16_t)>
class SixteenBits : public PartwiseCodec {
 public:
  explicit SixteenBits(const Stream& stream)
      : PartwiseCodec(parts_of(stream, [](const Layer& layer) { return static_cast<std::size_t>(layer.elements()); })) {
  }

 protected:
  std::size_t bytes_of(std::size_t elements) const override { return 2 * elements; }

  void encode_part(std::span<const float> values, std::span<char> message) override {
    char* const out = message.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int32_t bits = 0;
      std::memcpy(&bits, &values[i], sizeof bits);
      const std::uint16_t half = narrow(bits);
      std::memcpy(out + 2 * i, &half, sizeof half);
    }
  }

  bool decode_part(std::span<const char> message, std::span<float> values) override {
    const char* const in = message.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, in + 2 * i, sizeof half);
      values[i] = widen(half);
    }
    return true;
  }
};

}  // namespace mangrove::codec
