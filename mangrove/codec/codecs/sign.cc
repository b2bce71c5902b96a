#include <algorithm>
#include <bit>
#include <cmath>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/partwise.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

/// A layer is its mean magnitude (float32), and a bit for each element: 1 where it is negative. Biased: it needs error
/// feedback, with which the mean magnitude makes the sign converge as fast as the gradient.
/// source: Bernstein et al., signSGD: compressed optimisation for non-convex problems, ICML 2018; Karimireddy et al.,
/// Error feedback fixes signSGD and other gradient compression schemes, ICML 2019.
class Sign : public PartwiseCodec {
 public:
  explicit Sign(const Stream& stream)
      : PartwiseCodec(parts_of(stream, [](const Layer& layer) { return static_cast<std::size_t>(layer.elements()); })) {
  }

 protected:
  std::size_t bytes_of(std::size_t elements) const override { return kMean + (elements + 7) / 8; }

  void encode_part(std::span<const float> values, std::span<char> message) override {
    double sum = 0;
    for (std::size_t start = 0; start < values.size(); start += 8) {
      unsigned bits = 0;
      for (std::size_t place = 0; place < std::min<std::size_t>(8, values.size() - start); ++place) {
        const float value = finite_or_zero(values[start + place]);
        sum += std::abs(value);
        bits |= std::bit_cast<std::uint32_t>(value) >> 31 << place;
      }
      message[kMean + start / 8] = static_cast<char>(bits);
    }
    put_float(message, static_cast<float>(sum / static_cast<double>(values.size())));
  }

  bool decode_part(std::span<const char> message, std::span<float> values) override {
    const float mean = float_of(message), meanings[2] = {mean, -mean};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = meanings[message[kMean + i / 8] >> (i % 8) & 1];
    return is_scale(mean);  // a message is never trusted
  }

 private:
  static constexpr std::size_t kMean = sizeof(float);
};

}  // namespace

CodecRow rows::sign() {
  return {.name = "sign",
          .summary = "the sign of each and one magnitude per layer; needs error feedback (Karimireddy et al. 2019)",
          .parameters = {},
          .is_contraction = true,
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<Sign>(stream);
          }};
}

}  // namespace mangrove::codec
