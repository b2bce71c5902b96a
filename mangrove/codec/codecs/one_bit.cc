#include <array>
#include <bit>
#include <numeric>

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
    std::array<double, 8> below{}, other{};  // sums by place in a byte, side by side
    std::size_t others = 0;
    const auto encode_byte = [&](auto eight) {
      unsigned bits = 0;
      for (std::size_t place = 0; place < eight.size(); ++place) {
        // by its bits, because a branch would be taken at random; adding 0 makes 0 of -0
        const auto value = std::bit_cast<std::int32_t>(finite_or_zero(eight[place]) + 0.0f);
        const std::int32_t is_below = value >> 31;  // all bits or none
        below[place] += std::bit_cast<float>(value & is_below);
        other[place] += std::bit_cast<float>(value & ~is_below);
        bits |= (static_cast<unsigned>(~is_below) & 1) << place;
      }
      others += static_cast<std::size_t>(std::popcount(bits));
      return static_cast<char>(bits);
    };
    std::size_t start = 0;
    for (; start + 8 <= values.size(); start += 8)
      message[kMeans + start / 8] =
          encode_byte(values.subspan(start).first<8>());  // of a size that is known: vectorised
    if (start < values.size()) message[kMeans + start / 8] = encode_byte(values.subspan(start));
    const auto mean = [](const std::array<double, 8>& sums, std::size_t n) {
      const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
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
          .is_contraction = true,
          .make = [](std::span<const double>, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<OneBit>(stream);
          }};
}

}  // namespace mangrove::codec
