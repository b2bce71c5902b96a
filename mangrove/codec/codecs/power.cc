#include <algorithm>
#include <cstring>

#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/low_rank.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

void append_floats(std::string& message, std::span<const float> values) {
  message.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

void take_floats(std::string_view& message, std::span<float> values) {
  if (!values.empty()) std::memcpy(values.data(), message.data(), values.size_bytes());
  message.remove_prefix(values.size_bytes());
}

/// A message has for each layer that gets smaller by it the two factors of low_rank.h, as float32, of one power
/// iteration from the `right` of the last message (warm start); other layers, such as biases, as they are.
/// One sender to one receiver: to reduce over all senders instead, exchange left and right as low_rank.h says.
/// cost: 4 · rank floating-point operations for an element, and half as many for what it becomes again.
class Power : public Codec {
 public:
  Power(std::size_t rank, const Stream& stream) : rank_(rank), layers_(stream.layers), random_(stream.seed) {
    for (const Layer& layer : layers_)
      rights_.emplace_back(is_low_rank(layer) ? rank_ * static_cast<std::size_t>(layer.columns) : 0);
  }

  std::string encode(std::span<const float> values) override {
    std::vector<float> finite(values.size());
    std::transform(values.begin(), values.end(), finite.begin(), finite_or_zero);
    std::span<const float> rest(finite);
    std::string message;
    message.reserve(message_bytes());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Matrix<const float> matrix = take_matrix(rest, layers_[i]);
      if (is_low_rank(layers_[i])) {
        std::vector<float> left(rank_ * matrix.rows);
        start(rights_[i], matrix.columns);
        multiply(matrix, rights_[i], left);
        orthonormalise(left, matrix.rows);
        multiply_transposed(matrix, left, rights_[i]);
        append_floats(message, left);
        append_floats(message, rights_[i]);
      } else {
        append_floats(message, matrix.values);
      }
    }
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    MG_RETURN_IF_ERROR(check_size(message, message_bytes()));
    for (const Layer& layer : layers_) {
      const Matrix<float> matrix = take_matrix(values, layer);
      if (is_low_rank(layer)) {
        std::vector<float> left(rank_ * matrix.rows), right(rank_ * matrix.columns);
        take_floats(message, left);
        take_floats(message, right);
        expand(left, right, matrix);
      } else {
        take_floats(message, matrix.values);
      }
    }
    return {};
  }

 private:
  std::size_t factor_elements(const Layer& layer) const {
    return rank_ * static_cast<std::size_t>(layer.rows + layer.columns);
  }

  bool is_low_rank(const Layer& layer) const {
    return factor_elements(layer) < static_cast<std::size_t>(layer.elements());
  }

  std::size_t message_bytes() const {
    std::size_t floats = 0;
    for (const Layer& layer : layers_)
      floats += std::min(factor_elements(layer), static_cast<std::size_t>(layer.elements()));
    return floats * sizeof(float);
  }

  /// The last message's, orthonormal so that it neither vanishes nor grows from message to message; drawn where there
  /// is none, as of a gradient that was zero.
  void start(std::span<float> right, std::size_t columns) {
    orthonormalise(right, columns);
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::span<float> column = right.subspan(k * columns, columns);
      if (largest_magnitude(column) == 0) fill_normal(column, random_);
    }
  }

  const std::size_t rank_;
  const std::vector<Layer> layers_;
  std::vector<std::vector<float>> rights_;  // by layer
  Random random_;
};

}  // namespace

CodecRow rows::power() {
  return {.name = "power",
          .summary =
              "each layer as two thin factors, by power iteration; needs error feedback (Vogels et al., PowerSGD, "
              "2019)",
          .parameters = {{.name = "rank", .fallback = 2, .least = 1, .most = 64, .is_whole = true}},
          .is_contraction = true,
          .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
            return std::make_unique<Power>(static_cast<std::size_t>(arguments[0]), stream);
          }};
}

}  // namespace mangrove::codec
