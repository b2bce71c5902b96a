#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "mangrove/base/check.h"
#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/dither.h"
#include "mangrove/codec/partwise.h"
#include "mangrove/codec/range_coder.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

constexpr std::size_t kBucket = 512;  // the paper's, of its 4-bit code
static_assert(kBucket <= Dither::kMost);

/// A bucket is its Euclidean norm (float32), and for each element a whole number of norm / levels, rounded up or down
/// at random, and its sign. All of it is one range-coded message. The squared error of a bucket of n is on average at
/// most min(n / levels^2, sqrt(n) / levels) of its squared norm. source: Alistarh et al., QSGD: communication-efficient
/// SGD via gradient quantization and encoding, 2017; the learnt code takes the place of its fixed one (Elias omega).
class Qsgd : public Codec {
 public:
  Qsgd(const Stream& stream, std::uint32_t levels)
      : buckets_(parts_of(stream, [](const Layer&) { return kBucket; })), levels_(levels), dither_(stream.seed) {}

  std::string encode(std::span<const float> values) override {
    std::string message;
    RangeEncoder encoder(message);
    IntegerModel model;
    for (const std::size_t size : buckets_) {
      MG_CHECK(size <= values.size());
      encode_bucket(values.first(size), encoder, model);
      values = values.subspan(size);
    }
    encoder.finish();
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    RangeDecoder decoder(message);
    IntegerModel model;
    for (const std::size_t size : buckets_) {
      MG_CHECK(size <= values.size());
      decode_bucket(decoder, model, values.first(size));
      if (decoder.failed()) break;
      values = values.subspan(size);
    }
    return decoder.finish();
  }

 private:
  void encode_bucket(std::span<const float> values, RangeEncoder& encoder, IntegerModel& model) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    const auto norm = static_cast<float>(std::min(std::sqrt(sum_of_squares(values)), kLargest));
    const auto bits = std::bit_cast<std::uint32_t>(norm);
    encoder.write_evenly(bits >> 16, 16);
    encoder.write_evenly(bits & 0xffff, 16);
    const float inverse = static_cast<float>(levels_) * inverse_or_zero(norm);
    const std::span<const std::uint16_t> dither = dither_.next(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float value = finite_or_zero(values[i]);
      const float level = std::abs(value) * inverse + static_cast<float>(dither[i]) * 0x1p-16f;
      const std::uint32_t whole = std::min(static_cast<std::uint32_t>(level), levels_);
      model.write(encoder, whole);
      if (whole > 0) encoder.write_evenly(value < 0 ? 1 : 0, 1);
    }
  }

  void decode_bucket(RangeDecoder& decoder, IntegerModel& model, std::span<float> values) const {
    const std::uint32_t upper = decoder.read_evenly(16);
    const auto norm = std::bit_cast<float>(upper << 16 | decoder.read_evenly(16));
    if (!is_scale(norm)) decoder.fail();
    const float step = norm / static_cast<float>(levels_);
    for (float& value : values) {
      const std::uint32_t level = model.read(decoder, levels_);
      const bool is_negative = level > 0 && decoder.read_evenly(1) == 1;
      value = static_cast<float>(level) * (is_negative ? -step : step);
    }
  }

  std::vector<std::size_t> buckets_;
  std::uint32_t levels_;
  Dither dither_;
};

}  // namespace

CodecRow rows::qsgd() {
  return {.name = "qsgd",
          .summary = "levels of the norm of each 512, rounded at random, entropy-coded (Alistarh et al. 2017)",
          .parameters = {{.name = "levels", .fallback = 64, .least = 1, .most = 1024, .is_whole = true}},
          .is_unbiased = true,
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<Qsgd>(stream, static_cast<std::uint32_t>(arguments[0]));
          }};
}

}  // namespace mangrove::codec
