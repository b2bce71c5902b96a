#include <algorithm>
#include <array>
#include <cmath>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/dither.h"
#include "mangrove/codec/partwise.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

constexpr double kClip = 2.5;            // standard deviations, the paper's
constexpr std::size_t kTritsOfByte = 5;  // 3^5 = 243: 1.6 bits each
constexpr std::size_t kChunk = 500;      // elements that have their random numbers at a time
static_assert(kChunk <= Dither::kMost && kChunk % kTritsOfByte == 0);

/// A layer is a scale s (float32) and for each element 0, 1 (s) or 2 (-s), five in a byte as digits of base 3, the
/// first the lowest. s is the largest magnitude or, if less, 2.5 standard deviations about zero; an element is clipped
/// to s and then s in magnitude with the probability |element| / s, so only what was clipped has not the right mean.
/// source: Wen et al., TernGrad: ternary gradients to reduce communication in distributed deep learning, 2017.
class TernGrad : public PartwiseCodec {
 public:
  explicit TernGrad(const Stream& stream)
      : PartwiseCodec(parts_of(stream, [](const Layer& layer) { return static_cast<std::size_t>(layer.elements()); })),
        dither_(stream.seed) {}

 protected:
  std::size_t bytes_of(std::size_t elements) const override {
    return sizeof(float) + (elements + kTritsOfByte - 1) / kTritsOfByte;
  }

  void encode_part(std::span<const float> values, std::span<char> message) override {
    const double deviation = std::sqrt(sum_of_squares(values) / static_cast<double>(values.size()));
    const auto scale = static_cast<float>(std::min<double>(largest_magnitude(values), kClip * deviation));
    put_float(message, scale);
    message = message.subspan(sizeof scale);
    for (std::size_t start = 0; start < values.size(); start += kChunk) {
      const std::size_t count = std::min(kChunk, values.size() - start);
      encode_chunk(values.subspan(start, count), inverse_or_zero(scale), message.subspan(start / kTritsOfByte));
    }
  }

  bool decode_part(std::span<const char> message, std::span<float> values) override {
    const float scale = float_of(message);
    const float meanings[3] = {0, scale, -scale};
    message = message.subspan(sizeof scale);
    int largest = 0;
    for (std::size_t start = 0; start < values.size(); start += kTritsOfByte) {
      int trits = static_cast<unsigned char>(message[start / kTritsOfByte]);
      largest = std::max(largest, trits);
      for (float& value : values.subspan(start, std::min(kTritsOfByte, values.size() - start))) {
        value = meanings[trits % 3];
        trits /= 3;
      }
    }
    return is_scale(scale) && largest < 243;
  }

 private:
  void encode_chunk(std::span<const float> values, float inverse, std::span<char> message) {
    const std::span<const std::uint16_t> dither = dither_.next(values.size());
    std::array<unsigned char, kChunk> trits{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float value = finite_or_zero(values[i]);
      const int is_kept = std::abs(value) * inverse * 0x1p16f >= static_cast<float>(dither[i]) + 1 ? 1 : 0;
      const int is_negative = value < 0 ? 1 : 0;
      trits[i] = static_cast<unsigned char>(is_kept << is_negative);  // no branch, which would be taken at random
    }
    for (std::size_t i = 0; i < values.size(); i += kTritsOfByte) {
      const unsigned char* const t = &trits[i];
      message[i / kTritsOfByte] = static_cast<char>(t[0] + 3 * t[1] + 9 * t[2] + 27 * t[3] + 81 * t[4]);
    }
  }

  Dither dither_;
};

}  // namespace

CodecRow rows::terngrad() {
  return {.name = "terngrad",
          .summary = "-s, 0 or s at random, s per layer, clipped at 2.5 standard deviations (Wen et al. 2017)",
          .parameters = {},
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<TernGrad>(stream);
          }};
}

}  // namespace mangrove::codec
