#include <algorithm>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/dither.h"
#include "mangrove/codec/partwise.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kBlock = 256;  // one large value costs the precision of no more than these; 1.6 % for scales
static_assert(kBlock <= Dither::kMost);

/// A block is a scale (float32), the largest magnitude / 127, and for each element a byte, 128 + its whole number of
/// scales, -127 .. 127. Rounds up or down at random, so that the mean is right.
/// source: Dettmers, 8-bit approximations for parallelism in deep learning, 2016; blocks: Dettmers et al., 8-bit
/// optimizers via block-wise quantization, 2022; rounding: Gupta et al., Deep learning with limited numerical
/// precision, 2015.
class Int8 : public PartwiseCodec {
 public:
  explicit Int8(const Stream& stream)
      : PartwiseCodec(parts_of(stream, [](const Layer&) { return kBlock; })), dither_(stream.seed) {}

 protected:
  std::size_t bytes_of(std::size_t elements) const override { return sizeof(float) + elements; }

  void encode_part(std::span<const float> values, std::span<char> message) override {
    const float largest = largest_magnitude(values);
    put_float(message, largest / 127);
    const float inverse = 127 * inverse_or_zero(largest);
    const std::span<const std::uint16_t> dither = dither_.next(values.size());
    char* const out = message.data() + sizeof(float);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float level = finite_or_zero(values[i]) * inverse + 128;  // positive, so the conversion rounds down
      const int whole = static_cast<int>(level + static_cast<float>(dither[i]) * 0x1p-16f);
      out[i] = static_cast<char>(std::clamp(whole, 1, 255));  // beyond only by the float's rounding
    }
  }

  bool decode_part(std::span<const char> message, std::span<float> values) override {
    const float scale = float_of(message);
    const auto* const in = reinterpret_cast<const unsigned char*>(message.data() + sizeof(float));
    int least = 255;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int level = in[i];
      least = std::min(least, level);
      values[i] = static_cast<float>(level - 128) * scale;
    }
    return is_scale(scale) && least >= 1;
  }

 private:
  Dither dither_;
};

}  // namespace

CodecRow rows::int8() {
  return {.name = "int8",
          .summary = "1 byte each and a scale per 256, rounded at random (Dettmers 2016)",
          .parameters = {},
          .is_unbiased = true,
          .is_contraction = true,
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<Int8>(stream);
          }};
}

}  // namespace mangrove::codec
