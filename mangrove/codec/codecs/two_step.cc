#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/largest.h"
#include "mangrove/codec/range_coder.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

/// The levels of magnitudes: the lowest, and each that many times the one below it. Of a whole vector, not of each
/// layer: what top_k keeps lies between its threshold and the largest, which is little on a logarithmic scale, and the
/// levels of fifty layers would take more bytes than their elements.
struct Scale {
  float lowest = 0, ratio = 1;
};

/// Between the smallest and the largest magnitude, each level in the middle of an equal part of the logarithmic scale.
Scale scale_of(std::span<const std::uint32_t> indices, std::span<const float> values, std::size_t levels) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  float least = kLargest, most = 0;
  for (const std::uint32_t index : indices) {
    const float magnitude = std::abs(values[index]);
    if (!std::isfinite(magnitude)) continue;
    least = std::min(least, magnitude);
    most = std::max(most, magnitude);
  }
  if (most == 0) return {};
  const double ratio = std::pow(static_cast<double>(most) / least, 1 / static_cast<double>(levels));
  return {.lowest = static_cast<float>(least * std::sqrt(ratio)),
          .ratio = static_cast<float>(std::min<double>(ratio, kLargest))};
}

/// Made by multiplication alone: the same on every platform.
std::vector<float> magnitudes_of(const Scale& scale, std::size_t levels) {
  std::vector<float> magnitudes = {scale.lowest};
  while (magnitudes.size() < levels) magnitudes.push_back(magnitudes.back() * scale.ratio);
  return magnitudes;
}

/// A message has the number of elements and the scale; then, entropy-coded, for each element the gap before it, its
/// sign, its level.
class TwoStep : public Codec {
 public:
  TwoStep(double fraction, int bits) : fraction_(fraction), levels_(std::size_t{1} << (bits - 1)) {}

  std::string encode(std::span<const float> values) override {
    const std::vector<std::uint32_t> indices = largest(values, elements_of(fraction_, values.size()));
    const Scale scale = scale_of(indices, values, levels_);
    std::string message;
    append_number(message, indices.size());
    message.append(reinterpret_cast<const char*>(&scale), sizeof scale);
    RangeEncoder encoder(message);
    IntegerModel gaps, levels;
    const double levels_per_log = scale.ratio > 1 ? 1 / std::log(double{scale.ratio}) : 0;
    std::uint32_t next = 0;
    for (const std::uint32_t index : indices) {
      gaps.write(encoder, index - next);
      encoder.write_evenly(std::signbit(values[index]) ? 1 : 0, 1);
      levels.write(encoder, level_of(static_cast<double>(std::abs(values[index])) / scale.lowest, levels_per_log));
      next = index + 1;
    }
    encoder.finish();
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    std::fill(values.begin(), values.end(), 0.0f);
    const std::optional<std::uint64_t> count = take_number(message);
    if (!count || *count > values.size()) return bad_message("no count, or one above its elements");
    Scale scale;
    if (message.size() < sizeof scale) return bad_message("it ends before its levels");
    std::memcpy(&scale, message.data(), sizeof scale);
    const std::vector<float> magnitudes = magnitudes_of(scale, levels_);
    RangeDecoder decoder(message.substr(sizeof scale));
    IntegerModel gaps, levels;
    std::size_t next = 0;
    for (std::size_t i = 0; i < *count; ++i) {
      if (next == values.size() || decoder.failed()) return bad_message("an index is missing or beyond the end");
      next += gaps.read(decoder, static_cast<std::uint32_t>(values.size() - next - 1));
      const bool is_negative = decoder.read_evenly(1) != 0;
      const float magnitude = magnitudes[levels.read(decoder, static_cast<std::uint32_t>(levels_ - 1))];
      values[next++] = is_negative ? -magnitude : magnitude;
    }
    return decoder.finish();
  }

  void set_fraction(double fraction) override { fraction_ = fraction; }

 private:
  /// The level nearest on the logarithmic scale; the highest for what is not finite. ratio: to the lowest level.
  std::uint32_t level_of(double ratio, double levels_per_log) const {
    if (!std::isfinite(ratio)) return static_cast<std::uint32_t>(levels_ - 1);
    const double steps = std::log(ratio) * levels_per_log;
    return static_cast<std::uint32_t>(std::clamp(steps + 0.5, 0.0, static_cast<double>(levels_ - 1)));
  }

  double fraction_;
  const std::size_t levels_;
};

}  // namespace

CodecRow rows::two_step() {
  return {.name = "two_step",
          .summary = "top_k in few levels, entropy-coded (Sattler et al., Sparse binary compression, 2019)",
          .parameters = {{.name = "fraction", .fallback = 0.01, .least = 1e-6, .most = 1},
                         {.name = "bits", .fallback = 3, .least = 1, .most = 8, .is_whole = true}},
          .is_sparse = true,
          .is_contraction = true,
          .make = [](std::span<const double> arguments, const Stream&) -> std::unique_ptr<Codec> {
            return std::make_unique<TwoStep>(arguments[0], static_cast<int>(arguments[1]));
          }};
}

}  // namespace mangrove::codec
