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

/// The layers, and the thin factors of those that get smaller by them.
class Factors {
 public:
  Factors(std::size_t rank, const Stream& stream) : rank_(rank), layers_(stream.layers), random_(stream.seed) {
    for (const Layer& layer : layers_) rights_.emplace_back(is_low_rank(layer) ? right_elements(layer) : 0);
  }

  const std::vector<Layer>& layers() const { return layers_; }
  bool is_low_rank(const Layer& layer) const {
    return left_elements(layer) + right_elements(layer) < static_cast<std::size_t>(layer.elements());
  }
  std::size_t left_elements(const Layer& layer) const { return rank_ * static_cast<std::size_t>(layer.rows); }
  std::size_t right_elements(const Layer& layer) const { return rank_ * static_cast<std::size_t>(layer.columns); }

  std::size_t message_bytes() const {
    std::size_t floats = 0;
    for (const Layer& layer : layers_)
      floats += std::min(left_elements(layer) + right_elements(layer), static_cast<std::size_t>(layer.elements()));
    return floats * sizeof(float);
  }

  /// The last `right` of a layer, orthonormal so that it neither vanishes nor grows from message to message; drawn
  /// where there is none, as of a gradient that was zero.
  std::vector<float>& start(std::size_t layer) {
    std::vector<float>& right = rights_[layer];
    const auto columns = static_cast<std::size_t>(layers_[layer].columns);
    orthonormalise(right, columns);
    for (std::size_t k = 0; k * columns < right.size(); ++k) {
      const std::span<float> column = std::span(right).subspan(k * columns, columns);
      if (largest_magnitude(column) == 0) fill_normal(column, random_);
    }
    return right;
  }
  std::vector<float>& right(std::size_t layer) { return rights_[layer]; }
  const std::vector<float>& right(std::size_t layer) const { return rights_[layer]; }

 private:
  std::size_t rank_;
  std::vector<Layer> layers_;
  std::vector<std::vector<float>> rights_;  // by layer
  Random random_;
};

std::vector<float> finite_of(std::span<const float> values) {
  std::vector<float> finite(values.size());
  std::transform(values.begin(), values.end(), finite.begin(), finite_or_zero);
  return finite;
}

/// A message has for each layer that gets smaller by it the two factors of low_rank.h, as float32, of one power
/// iteration from the `right` of the last message (warm start); other layers, such as biases, as they are.
/// cost: 4 · rank floating-point operations for an element, and half as many for what it becomes again.
class Power : public Codec {
 public:
  Power(std::size_t rank, const Stream& stream) : factors_(rank, stream) {}

  std::string encode(std::span<const float> values) override {
    const std::vector<float> finite = finite_of(values);
    std::span<const float> rest(finite);
    std::string message;
    message.reserve(factors_.message_bytes());
    for (std::size_t i = 0; i < factors_.layers().size(); ++i) {
      const Layer& layer = factors_.layers()[i];
      const Matrix<const float> matrix = take_matrix(rest, layer);
      if (factors_.is_low_rank(layer)) {
        std::vector<float> left(factors_.left_elements(layer));
        std::vector<float>& right = factors_.start(i);
        multiply(matrix, right, left);
        orthonormalise(left, matrix.rows);
        multiply_transposed(matrix, left, right);
        append_floats(message, left);
        append_floats(message, right);
      } else {
        append_floats(message, matrix.values);
      }
    }
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    MG_RETURN_IF_ERROR(check_size(message, factors_.message_bytes()));
    for (const Layer& layer : factors_.layers()) {
      const Matrix<float> matrix = take_matrix(values, layer);
      if (factors_.is_low_rank(layer)) {
        std::vector<float> left(factors_.left_elements(layer)), right(factors_.right_elements(layer));
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
  Factors factors_;
};

/// The sum M of several senders' matrices M_s. All begin with the same `right`. First they add up left = M_s · right,
/// which gives M · right, and make it orthonormal, everyone for itself; then they add up right = M_sᵀ · left, which
/// gives Mᵀ · left. Both are linear in M_s, so left · rightᵀ is what one sender that had M would send (Vogels et al.,
/// 2019, algorithm 1). Layers that do not get smaller go with the first sum, as they are. bytes: 4 · rank · (rows +
/// columns) for each layer, in place of 4 · rows · columns.
class PowerSum : public ReducibleCodec {
 public:
  PowerSum(std::size_t rank, const Stream& stream) : kept_(rank, stream), factors_(kept_) {}

  std::span<float> begin(std::span<const float> values) override {
    factors_ = kept_;
    own_ = finite_of(values);
    first_.clear();
    second_.clear();
    std::span<const float> rest(own_);
    for (std::size_t i = 0; i < factors_.layers().size(); ++i) {
      const Layer& layer = factors_.layers()[i];
      const Matrix<const float> matrix = take_matrix(rest, layer);
      std::vector<float> sent(matrix.values.begin(), matrix.values.end());
      if (factors_.is_low_rank(layer)) {
        sent.resize(factors_.left_elements(layer));
        multiply(matrix, factors_.start(i), sent);
      }
      first_.insert(first_.end(), sent.begin(), sent.end());
    }
    return first_;
  }

  std::span<float> next() override {
    if (!second_.empty()) return finish();
    std::span<const float> rest(own_);
    std::span<float> lefts(first_);
    for (const Layer& layer : factors_.layers()) {
      const Matrix<const float> matrix = take_matrix(rest, layer);
      const std::span<float> left = take_first(lefts, layer);
      if (!factors_.is_low_rank(layer)) continue;
      orthonormalise(left, matrix.rows);
      std::vector<float> right(factors_.right_elements(layer));
      multiply_transposed(matrix, left, right);
      second_.insert(second_.end(), right.begin(), right.end());
    }
    own_rights_ = second_;
    return second_;
  }

  std::string message() const override {
    std::string message;
    std::span<const float> lefts(first_);
    for (std::size_t i = 0; i < factors_.layers().size(); ++i) {
      append_floats(message, take_first(lefts, factors_.layers()[i]));
      append_floats(message, factors_.right(i));
    }
    return message;
  }

  void contribution(std::span<float> values) const override {
    std::span<const float> lefts(first_), rights(own_rights_), own(own_);
    for (const Layer& layer : factors_.layers()) {
      const Matrix<float> matrix = take_matrix(values, layer);
      const Matrix<const float> given = take_matrix(own, layer);
      const std::span<const float> left = take_first(lefts, layer);
      if (factors_.is_low_rank(layer)) {
        const std::size_t elements = factors_.right_elements(layer);
        expand(left, rights.first(elements), matrix);
        rights = rights.subspan(elements);
      } else {
        std::copy(given.values.begin(), given.values.end(), matrix.values.begin());
      }
    }
  }

  void keep() override { kept_ = factors_; }

 private:
  /// The layer's part of what is summed first.
  template <class Value>
  std::span<Value> take_first(std::span<Value>& rest, const Layer& layer) const {
    const auto whole = static_cast<std::size_t>(layer.elements());
    const std::span<Value> part = rest.first(factors_.is_low_rank(layer) ? factors_.left_elements(layer) : whole);
    rest = rest.subspan(part.size());
    return part;
  }

  std::span<float> finish() {
    std::span<const float> rights(second_);
    for (std::size_t i = 0; i < factors_.layers().size(); ++i) {
      std::vector<float>& right = factors_.right(i);
      std::copy_n(rights.begin(), right.size(), right.begin());
      rights = rights.subspan(right.size());
    }
    return {};
  }

  Factors kept_, factors_;  // of the last sum that was kept; of this one
  std::vector<float> own_;  // this sender's values
  std::vector<float> first_, second_, own_rights_;
};

}  // namespace

CodecRow rows::power() {
  return {
      .name = "power",
      .summary =
          "each layer as two thin factors, by power iteration; needs error feedback (Vogels et al., PowerSGD, "
          "2019)",
      .parameters = {{.name = "rank", .fallback = 2, .least = 1, .most = 64, .is_whole = true}},
      .is_contraction = true,
      .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
        return std::make_unique<Power>(static_cast<std::size_t>(arguments[0]), stream);
      },
      .make_reducible = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<ReducibleCodec> {
        return std::make_unique<PowerSum>(static_cast<std::size_t>(arguments[0]), stream);
      }};
}

}  // namespace mangrove::codec
