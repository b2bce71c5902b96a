#pragma once

#include <cstdint>
#include <cstring>

#include "mangrove/codec/partwise.h"

namespace mangrove::codec {

/// Each value as the 16 bits that `narrow` makes of it and `widen` a float again.
template <std::uint16_t (*narrow)(float), float (*widen)(std::uint16_t)>
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
      const std::uint16_t bits = narrow(values[i]);
      std::memcpy(out + 2 * i, &bits, 2);
    }
  }

  bool decode_part(std::span<const char> message, std::span<float> values) override {
    const char* const in = message.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, in + 2 * i, 2);
      values[i] = widen(bits);
    }
    return true;
  }
};

}  // namespace mangrove::codec
