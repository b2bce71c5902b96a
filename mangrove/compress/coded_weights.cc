#include "mangrove/compress/coded_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/codec/range_coder.h"

namespace mangrove::compress {
namespace {

using codec::BitModel;
using codec::RangeDecoder;
using codec::RangeEncoder;

constexpr std::size_t kMostValues = 4096;          // of a codebook
constexpr std::int64_t kMostWeightsAByte = 32768;  // the cheapest bit costs 1/2,840 of one

/// Numbers below 2^bits, each bit of which is learnt given those above it.
class BitTree {
 public:
  explicit BitTree(int bits) : bits_(bits), models_(std::size_t{1} << bits) {}

  void write(RangeEncoder& encoder, std::uint32_t number) {
    std::size_t known = 1;
    for (int bit = bits_ - 1; bit >= 0; --bit) {
      const bool is_set = (number >> bit & 1) != 0;
      encoder.write(models_[known], is_set);
      known = 2 * known + (is_set ? 1 : 0);
    }
  }

  std::uint32_t read(RangeDecoder& decoder) {
    std::size_t known = 1;
    for (int bit = 0; bit < bits_; ++bit) known = 2 * known + (decoder.read(models_[known]) ? 1 : 0);
    return static_cast<std::uint32_t>(known - (std::size_t{1} << bits_));
  }

 private:
  int bits_;
  std::vector<BitModel> models_;
};

void write_word(RangeEncoder& encoder, std::uint32_t word) {
  encoder.write_evenly(word >> 16, 16);
  encoder.write_evenly(word & 0xffff, 16);
}

std::uint32_t read_word(RangeDecoder& decoder) {
  const std::uint32_t high = decoder.read_evenly(16);
  return high << 16 | decoder.read_evenly(16);
}

/// Weights with values of their own, as bits of floats.
class WholeFloats {
 public:
  void write(RangeEncoder& encoder, std::uint32_t bits) {
    top_.write(encoder, bits >> kMantissa);
    encoder.write_evenly(bits >> 16 & 0x7f, kMantissa - 16);
    encoder.write_evenly(bits & 0xffff, 16);
  }

  std::uint32_t read(RangeDecoder& decoder) {
    const std::uint32_t top = top_.read(decoder);
    const std::uint32_t middle = decoder.read_evenly(kMantissa - 16);
    return top << kMantissa | middle << 16 | decoder.read_evenly(16);
  }

 private:
  static constexpr int kMantissa = 23;
  BitTree top_{32 - kMantissa};
};

/// Weights that share values, as numbers of these.
class SharedFloats {
 public:
  explicit SharedFloats(std::vector<std::uint32_t> values)
      : values_(std::move(values)), tree_(static_cast<int>(std::bit_width(values_.size() - 1))) {}

  void write(RangeEncoder& encoder, std::uint32_t bits) {
    const auto found = std::ranges::lower_bound(values_, bits);
    tree_.write(encoder, static_cast<std::uint32_t>(found - values_.begin()));
  }

  std::uint32_t read(RangeDecoder& decoder) {
    const std::uint32_t number = tree_.read(decoder);
    if (number < values_.size()) return values_[number];
    decoder.fail();
    return 0;
  }

 private:
  std::vector<std::uint32_t> values_;  // bits of floats, ascending as numbers
  BitTree tree_;
};

/// Learns which weights of a matrix are zero. They are visited row by row.
class ZeroMap {
 public:
  explicit ZeroMap(std::int64_t columns) : above_(static_cast<std::size_t>(columns)) {}

  /// Of the next weight.
  BitModel& model() {
    return models_[kLevels * level(above_[column_], row_) + level(left_, static_cast<std::uint32_t>(column_))];
  }

  void advance(bool is_kept) {
    above_[column_] += is_kept ? 1 : 0;
    left_ += is_kept ? 1 : 0;
    if (++column_ < above_.size()) return;
    column_ = 0;
    left_ = 0;
    ++row_;
  }

 private:
  static constexpr std::size_t kLevels = 11;

  /// How many of `all` were kept: a level for a share of 1/64 or less, then one for each power of two; while there was
  /// none, a level for how long.
  static std::size_t level(std::uint32_t kept, std::uint32_t all) {
    if (kept == 0) return static_cast<std::size_t>(all < 4 ? 0 : all < 16 ? 1 : all < 64 ? 2 : 3);
    return 3 + std::max<std::size_t>(1, static_cast<std::size_t>(std::bit_width((std::uint64_t{kept} << 6) / all)));
  }

  std::array<BitModel, kLevels * kLevels> models_;
  std::vector<std::uint32_t> above_;  // kept weights of each column so far
  std::uint32_t left_ = 0;            // of this row
  std::uint32_t row_ = 0;
  std::size_t column_ = 0;
};

/// Visits rows of the weights: of a convolution or a product one for each output channel.
std::int64_t columns_of(const Shape& shape) {
  const std::int64_t elements = shape.elements();
  return shape.rank() > 0 && shape[0] > 0 ? std::max<std::int64_t>(1, elements / shape[0]) : 1;
}

/// The distinct bit patterns of kept weights, ascending; empty where there are too many, or too few weights share them.
std::vector<std::uint32_t> shared_values(std::span<const float> weights, std::int64_t kept) {
  std::map<std::uint32_t, std::int64_t> counts;
  for (const float weight : weights) {
    const auto bits = std::bit_cast<std::uint32_t>(weight);
    if (bits == 0) continue;
    ++counts[bits];
    if (counts.size() > kMostValues) return {};
  }
  if (static_cast<std::int64_t>(counts.size()) * 3 > kept * 2) return {};
  std::vector<std::uint32_t> values;
  values.reserve(counts.size());
  for (const auto& [bits, count] : counts) values.push_back(bits);
  return values;
}

template <class Floats>
void write_weights(RangeEncoder& encoder, const Tensor& weights, Floats floats) {
  ZeroMap zeros(columns_of(weights.shape()));
  for (const float weight : weights.as<float>()) {
    const auto bits = std::bit_cast<std::uint32_t>(weight);
    encoder.write(zeros.model(), bits != 0);
    if (bits != 0) floats.write(encoder, bits);
    zeros.advance(bits != 0);
  }
}

template <class Floats>
void read_weights(RangeDecoder& decoder, Tensor& weights, Floats floats) {
  ZeroMap zeros(columns_of(weights.shape()));
  for (float& weight : weights.as<float>()) {
    const bool is_kept = decoder.read(zeros.model());
    zeros.advance(is_kept);
    if (is_kept) weight = std::bit_cast<float>(floats.read(decoder));
    if (decoder.failed()) return;
  }
}

}  // namespace

CodedWeights encode_weights(const Tensor& weights) {
  CodedWeights coded;
  const auto elements = weights.as<float>();
  coded.kept = std::ranges::count_if(elements, [](float weight) { return std::bit_cast<std::uint32_t>(weight) != 0; });
  const std::vector<std::uint32_t> values = shared_values(elements, coded.kept);
  coded.values = static_cast<std::int64_t>(values.size());
  RangeEncoder encoder(coded.message);
  encoder.write_evenly(static_cast<std::uint32_t>(values.size()), 16);
  for (const std::uint32_t value : values) write_word(encoder, value);
  if (values.empty())
    write_weights(encoder, weights, WholeFloats());
  else
    write_weights(encoder, weights, SharedFloats(values));
  encoder.finish();
  return coded;
}

Result<Tensor> decode_weights(std::string_view message, const Shape& shape) {
  const auto length = static_cast<std::int64_t>(message.size());
  if (shape.elements() / kMostWeightsAByte > length) {
    return make_error(Code::data_loss, "coded weights of " + std::to_string(length) +
                                           " bytes are too short for shape " + to_string(shape));
  }
  RangeDecoder decoder(message);
  std::vector<std::uint32_t> values(decoder.read_evenly(16));
  if (values.size() > kMostValues)
    return make_error(Code::data_loss, "coded weights share " + std::to_string(values.size()) +
                                           " values, the most is " + std::to_string(kMostValues));
  for (std::uint32_t& value : values) value = read_word(decoder);
  Tensor weights(DType::f32, shape);
  if (values.empty())
    read_weights(decoder, weights, WholeFloats());
  else
    read_weights(decoder, weights, SharedFloats(std::move(values)));
  MG_RETURN_IF_ERROR(decoder.finish().context("coded weights"));
  return weights;
}

}  // namespace mangrove::compress
