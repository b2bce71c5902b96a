#include <algorithm>
#include <cstring>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/low_rank.h"
#include "mangrove/codec/scale.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

/// How layers are projected. cost: 2 · rank floating-point operations for an element.
class Projection {
 public:
  Projection(std::size_t rank, const Stream& stream) : rank_(rank), layers_(stream.layers), random_(stream.seed) {}

  /// Floats that are sent of all layers.
  std::size_t size() const {
    std::size_t floats = 0;
    for (const Layer& layer : layers_) floats += size_of(layer);
    return floats;
  }

  /// values: of all layers; NaN and infinity count as 0.
  std::vector<float> project(std::span<const float> values, std::uint64_t round) const {
    std::vector<float> finite(values.size()), sent(size());
    std::transform(values.begin(), values.end(), finite.begin(), finite_or_zero);
    std::span<const float> left(finite);
    std::span<float> rest(sent);
    Random random = random_.fork(round);
    for (const Layer& layer : layers_) {
      const Matrix<const float> matrix = take_matrix(left, layer);
      const std::span<float> into = take(rest, size_of(layer));
      if (is_low_rank(layer)) {
        multiply_transposed(matrix, draw_basis(matrix.rows, random), into);
      } else {
        std::copy(matrix.values.begin(), matrix.values.end(), into.begin());
      }
    }
    return sent;
  }

  void expand(std::span<const float> sent, std::uint64_t round, std::span<float> values) const {
    Random random = random_.fork(round);
    for (const Layer& layer : layers_) {
      const Matrix<float> matrix = take_matrix(values, layer);
      const std::span<const float> from = take(sent, size_of(layer));
      if (is_low_rank(layer)) {
        codec::expand(draw_basis(matrix.rows, random), from, matrix);
      } else {
        std::copy(from.begin(), from.end(), matrix.values.begin());
      }
    }
  }

 private:
  template <class Value>
  static std::span<Value> take(std::span<Value>& rest, std::size_t count) {
    const std::span<Value> taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  }

  bool is_low_rank(const Layer& layer) const { return static_cast<std::size_t>(layer.rows) > rank_; }

  std::size_t size_of(const Layer& layer) const {
    return std::min(rank_, static_cast<std::size_t>(layer.rows)) * static_cast<std::size_t>(layer.columns);
  }

  std::vector<float> draw_basis(std::size_t rows, Random& random) const {
    std::vector<float> basis(rank_ * rows);
    fill_normal(basis, random);
    orthonormalise(basis, rows);
    return basis;
  }

  const std::size_t rank_;
  const std::vector<Layer> layers_;
  const Random random_;  // forked for each round
};

std::string message_of(std::uint64_t round, std::span<const float> sent) {
  std::string message;
  append_number(message, round);
  message.append(reinterpret_cast<const char*>(sent.data()), sent.size_bytes());
  return message;
}

/// A message has its round and for each layer M of more than `rank` rows Mᵀ · A, as float32, A being an orthonormal
/// basis [rows, rank] that both sides draw from the seed and the round; smaller layers as they are. What arrives is
/// A · Aᵀ · M. The paper learns M within the basis; of one that is learnt without, this is the nearest there.
class StructuredLowRank : public Codec {
 public:
  StructuredLowRank(std::size_t rank, const Stream& stream) : projection_(rank, stream) {}

  std::string encode(std::span<const float> values) override {
    const std::uint64_t round = round_++;
    return message_of(round, projection_.project(values, round));
  }

  Status decode(std::string_view message, std::span<float> values) override {
    const std::optional<std::uint64_t> round = take_number(message);
    if (!round) return bad_message("no round");
    std::vector<float> sent(projection_.size());
    MG_RETURN_IF_ERROR(check_size(message, sent.size() * sizeof(float)));
    if (!sent.empty()) std::memcpy(sent.data(), message.data(), message.size());
    projection_.expand(sent, *round, values);
    return {};
  }

 private:
  const Projection projection_;
  std::uint64_t round_ = 0;
};

/// All senders draw the same basis A, and the sum of their Mᵀ · A is that of their sum.
class StructuredLowRankSum : public ReducibleCodec {
 public:
  StructuredLowRankSum(std::size_t rank, const Stream& stream) : projection_(rank, stream) {}

  std::span<float> begin(std::span<const float> values) override {
    own_ = projection_.project(values, round_);
    return sent_ = own_;
  }
  std::span<float> next() override { return {}; }
  std::string message() const override { return message_of(round_, sent_); }
  void contribution(std::span<float> values) const override { projection_.expand(own_, round_, values); }
  void keep() override { ++round_; }

 private:
  const Projection projection_;
  std::vector<float> own_, sent_;
  std::uint64_t round_ = 0;
};

}  // namespace

CodecRow rows::structured_low_rank() {
  return {
      .name = "structured_low_rank",
      .summary =
          "a structured update: each layer in a random basis that both sides draw (Konečný et al., Federated "
          "learning, 2016)",
      .parameters = {{.name = "rank", .fallback = 8, .least = 1, .most = 64, .is_whole = true}},
      .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
        return std::make_unique<StructuredLowRank>(static_cast<std::size_t>(arguments[0]), stream);
      },
      .make_reducible = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<ReducibleCodec> {
        return std::make_unique<StructuredLowRankSum>(static_cast<std::size_t>(arguments[0]), stream);
      }};
}

}  // namespace mangrove::codec
