#include <algorithm>
#include <bit>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/partwise.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

constexpr std::int64_t kLeast = 512;  // elements of a part, so that its two means cost at most an eighth of a bit each

/// Whole rows, the weights of one output (Seide's columns); of short ones several.
std::size_t elements_of_part(const Layer& layer) {
  return static_cast<std::size_t>(layer.columns * ((kLeast + layer.columns - 1) / layer.columns));
}

/// A part is the means (float32) of its elements below zero and of the others, and a bit for each element that says
/// which it becomes. Biased: it needs error feedback.
/// source: Seide et al., 1-bit stochastic gradient descent and its application to data-parallel distributed training
/// of speech DNNs, 2014.
class OneBit : public PartwiseCodec {
 public:
  explicit OneBit(const Stream& stream) : PartwiseCodec(parts_of(stream, elements_of_part)) {}

 protected:
  std::size_t bytes_of(std::size_t elements) const override { return kMeans + (elements + 7) / 8; }

  void encode_part(std::span<const float> values, std::span<char> message) override {
    double below = 0, other = 0;
    std::size_t others = 0;
    for (std::size_t start = 0; start < values.size(); start += 8) {
      unsigned bits = 0;
      unsigned place = 0;
      for (const float value : values.subspan(start, std::min<std::size_t>(8, values.size() - start))) {
        const float finite = finite_or_zero(value);
        const bool is_other = finite >= 0;
        below += is_other ? 0 : finite;
        other += is_other ? finite : 0;
        bits |= static_cast<unsigned>(is_other) << place++;
      }
      others += static_cast<std::size_t>(std::popcount(bits));
      message[kMeans + start / 8] = static_cast<char>(bits);
    }
    const auto mean = [](double sum, std::size_t n) {
      return n == 0 ? 0 : static_cast<float>(sum / static_cast<double>(n));
    };
    put_float(message, mean(below, values.size() - others));
    put_float(message.subspan(sizeof(float)), mean(other, others));
  }

  bool decode_part(std::span<const char> message, std::span<float> values) override {
    const float means[2] = {float_of(message), float_of(message.subspan(sizeof(float)))};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = means[message[kMeans + i / 8] >> (i % 8) & 1];
    return is_scale(-means[0]) && is_scale(means[1]);
  }

 private:
  static constexpr std::size_t kMeans = 2 * sizeof(float);
};

}  // namespace

CodecRow rows::one_bit() {
  return {.name = "one_bit",
          .summary = "the sign of each and two means per output; needs error feedback (Seide et al. 2014)",
          .parameters = {},
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<OneBit>(stream);
          }};
}

}  // namespace mangrove::codec
