#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "mangrove/base/check.h"
#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/dither.h"
#include "mangrove/codec/random_places.h"
#include "mangrove/codec/scale.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kMostBlock = 4096;  // elements that are rotated together: they stay in the nearest cache
constexpr std::size_t kScale = 2 * sizeof(float);

/// Each layer from its start in blocks of a power of two of elements, as large as they can be.
std::vector<std::size_t> blocks_of(const Stream& stream) {
  std::vector<std::size_t> blocks;
  for (const Layer& layer : stream.layers) {
    for (auto left = static_cast<std::size_t>(layer.elements()); left > 0; left -= blocks.back())
      blocks.push_back(std::min(kMostBlock, std::bit_floor(left)));
  }
  return blocks;
}

/// Times the Hadamard matrix / √n, which is its own inverse. values: a power of two of them.
void hadamard(std::span<float> values) {
  const float scale = 1 / std::sqrt(static_cast<float>(values.size()));
  for (float& value : values) value *= scale;
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t start = 0; start < values.size(); start += 2 * half) {
      float *const a = &values[start], *const b = a + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float sum = a[i] + b[i], difference = a[i] - b[i];
        a[i] = sum;
        b[i] = difference;
      }
    }
  }
}

void flip_signs(std::span<float> values, Random& random) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bits = i % 64 == 0 ? random.next() : bits >> 1;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits) << 31;  // by bits: a branch would be taken at random
    values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) ^ sign);
  }
}

/// Signs flipped at random and a Hadamard transform spread what is in a block evenly over it; then a part of the
/// elements is kept, in places drawn at random, and each rounded up or down at random to one of 2^bits levels. Both
/// sides draw signs and places from the seed and the round. A message has the round, the fraction (float32), then each
/// block: its lowest level and the distance of levels (float32), and the level of each kept element, the first in the
/// lowest bits.
class Sketched : public Codec {
 public:
  Sketched(double fraction, int bits, const Stream& stream)
      : fraction_(static_cast<float>(fraction)),
        bits_(bits),
        blocks_(blocks_of(stream)),
        random_(stream.seed),
        dither_(random_.fork(~std::uint64_t{0}).next()) {}

  std::string encode(std::span<const float> values) override {
    std::string message;
    append_number(message, round_);
    message.append(reinterpret_cast<const char*>(&fraction_), sizeof fraction_);
    const std::size_t head = message.size();
    message.resize(head + blocks_bytes(fraction_));
    std::span<char> space = std::span(message).subspan(head);
    Random random = random_.fork(round_++);
    for (const std::size_t size : blocks_) {
      MG_CHECK(size <= values.size());
      const std::size_t count = elements_of(fraction_, size);
      encode_block(values.first(size), count, random, space.first(block_bytes(count)));
      values = values.subspan(size);
      space = space.subspan(block_bytes(count));
    }
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    const std::optional<std::uint64_t> round = take_number(message);
    if (!round || message.size() < sizeof(float)) return bad_message("no round or no fraction");
    const float fraction = float_of(message);
    if (!(fraction > 0 && fraction <= 1)) return bad_message("its fraction is out of range");
    message.remove_prefix(sizeof fraction);
    MG_RETURN_IF_ERROR(check_size(message, blocks_bytes(fraction)));
    Random random = random_.fork(*round);
    for (const std::size_t size : blocks_) {
      MG_CHECK(size <= values.size());
      const std::size_t count = elements_of(fraction, size);
      if (!decode_block(message.substr(0, block_bytes(count)), count, random, values.first(size)))
        return bad_message("levels of a block that are none");
      values = values.subspan(size);
      message.remove_prefix(block_bytes(count));
    }
    return {};
  }

  void set_fraction(double fraction) override { fraction_ = static_cast<float>(fraction); }

 private:
  std::size_t block_bytes(std::size_t count) const {
    return kScale + (count * static_cast<std::size_t>(bits_) + 7) / 8;
  }

  std::size_t blocks_bytes(float fraction) const {
    std::size_t bytes = 0;
    for (const std::size_t size : blocks_) bytes += block_bytes(elements_of(fraction, size));
    return bytes;
  }

  void encode_block(std::span<const float> values, std::size_t count, Random& random, std::span<char> message) {
    const std::vector<std::uint64_t> places = random_set(random, count, values.size());
    std::vector<float> rotated(values.size()), kept;
    std::transform(values.begin(), values.end(), rotated.begin(), finite_or_zero);
    flip_signs(rotated, random);
    hadamard(rotated);
    kept.reserve(count);
    for_each_of(places, [&](std::size_t index) { kept.push_back(finite_or_zero(rotated[index])); });
    quantise(kept, message);
  }

  void quantise(std::span<const float> values, std::span<char> message) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const float lowest = *least;
    const float step = std::min(*most / top_level() - lowest / top_level(), std::numeric_limits<float>::max());
    put_float(message, lowest);
    put_float(message.subspan(sizeof lowest), step);
    const float inverse = inverse_or_zero(step);
    char* out = message.data() + kScale;
    std::uint64_t pending = 0;
    int held = 0;
    for (std::size_t start = 0; start < values.size(); start += Dither::kMost) {
      const std::size_t count = std::min(Dither::kMost, values.size() - start);
      const std::span<const std::uint16_t> dither = dither_.next(count);
      for (std::size_t i = 0; i < count; ++i) {
        const float level = (values[start + i] - lowest) * inverse + static_cast<float>(dither[i]) * 0x1p-16f;
        pending |= static_cast<std::uint64_t>(std::min(level, top_level())) << held;
        for (held += bits_; held >= 8; held -= 8, pending >>= 8) *out++ = static_cast<char>(pending);
      }
    }
    if (held > 0) *out = static_cast<char>(pending);
  }

  bool decode_block(std::span<const char> message, std::size_t count, Random& random, std::span<float> values) const {
    const float lowest = float_of(message), step = float_of(message.subspan(sizeof lowest));
    const float scale = static_cast<float>(values.size()) / static_cast<float>(count);
    const auto* in = reinterpret_cast<const unsigned char*>(message.data() + kScale);
    unsigned pending = 0;
    int held = 0;
    std::fill(values.begin(), values.end(), 0.0f);
    for_each_of(random_set(random, count, values.size()), [&](std::size_t index) {
      if (held < bits_) {
        pending |= static_cast<unsigned>(*in++) << held;
        held += 8;
      }
      const unsigned level = pending & ((1u << bits_) - 1);
      values[index] = scale * (lowest + static_cast<float>(level) * step);
      pending >>= bits_;
      held -= bits_;
    });
    hadamard(values);
    flip_signs(values, random);
    return std::isfinite(lowest) && is_scale(step);
  }

  float top_level() const { return static_cast<float>((1 << bits_) - 1); }

  float fraction_;
  const int bits_;
  const std::vector<std::size_t> blocks_;
  const Random random_;  // forked for each round
  Dither dither_;
  std::uint64_t round_ = 0;
};

}  // namespace

CodecRow rows::sketched() {
  return {.name = "sketched",
          .summary =
              "a sketched update: rotated at random, a part kept in random places, rounded at random to few bits "
              "(Konečný et al., Federated learning, 2016)",
          .parameters = {{.name = "fraction", .fallback = 0.25, .least = 1e-6, .most = 1},
                         {.name = "bits", .fallback = 2, .least = 1, .most = 8, .is_whole = true}},
          .is_unbiased = true,
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<Sketched>(arguments[0], static_cast<int>(arguments[1]), stream);
          }};
}

}  // namespace mangrove::codec
