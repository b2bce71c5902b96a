#include <algorithm>
#include <cstring>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/low_rank.h"
#include "mangrove/codec/scale.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

/// A message has its round and for each layer M of more than `rank` rows Mᵀ · A, as float32, A being an orthonormal
/// basis [rows, rank] that both sides draw from the seed and the round; smaller layers as they are. What arrives is
/// A · Aᵀ · M. The paper learns M within the basis; of one that is learnt without, this is the nearest there.
/// cost: 4 · rank floating-point operations for an element, and as many for what it becomes again.
class StructuredLowRank : public Codec {
 public:
  StructuredLowRank(std::size_t rank, const Stream& stream)
      : rank_(rank), layers_(stream.layers), random_(stream.seed) {}

  std::string encode(std::span<const float> values) override {
    std::string message;
    append_number(message, round_);
    std::vector<float> finite(values.size());
    std::transform(values.begin(), values.end(), finite.begin(), finite_or_zero);
    std::span<const float> left(finite);
    Random random = random_.fork(round_++);
    for (const Layer& layer : layers_) {
      const Matrix<const float> matrix = take_matrix(left, layer);
      std::vector<float> sent(matrix.values.begin(), matrix.values.end());
      if (is_low_rank(layer)) {
        sent.resize(rank_ * matrix.columns);
        multiply_transposed(matrix, draw_basis(matrix.rows, random), sent);
      }
      message.append(reinterpret_cast<const char*>(sent.data()), sent.size() * sizeof(float));
    }
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    const std::optional<std::uint64_t> round = take_number(message);
    if (!round) return bad_message("no round");
    MG_RETURN_IF_ERROR(check_size(message, sent_bytes()));
    Random random = random_.fork(*round);
    for (const Layer& layer : layers_) {
      const Matrix<float> matrix = take_matrix(values, layer);
      std::vector<float> sent(is_low_rank(layer) ? rank_ * matrix.columns : matrix.values.size());
      if (sent.empty()) continue;
      std::memcpy(sent.data(), message.data(), sent.size() * sizeof(float));
      message.remove_prefix(sent.size() * sizeof(float));
      if (is_low_rank(layer)) {
        expand(draw_basis(matrix.rows, random), sent, matrix);
      } else {
        std::copy(sent.begin(), sent.end(), matrix.values.begin());
      }
    }
    return {};
  }

 private:
  bool is_low_rank(const Layer& layer) const { return static_cast<std::size_t>(layer.rows) > rank_; }

  std::size_t sent_bytes() const {
    std::size_t floats = 0;
    for (const Layer& layer : layers_)
      floats += std::min(rank_, static_cast<std::size_t>(layer.rows)) * static_cast<std::size_t>(layer.columns);
    return floats * sizeof(float);
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
  std::uint64_t round_ = 0;
};

}  // namespace

CodecRow rows::structured_low_rank() {
  return {.name = "structured_low_rank",
          .summary =
              "a structured update: each layer in a random basis that both sides draw (Konečný et al., Federated "
              "learning, 2016)",
          .parameters = {{.name = "rank", .fallback = 8, .least = 1, .most = 64, .is_whole = true}},
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<StructuredLowRank>(static_cast<std::size_t>(arguments[0]), stream);
          }};
}

}  // namespace mangrove::codec
