#include "mangrove/codec/momentum_correction.h"

#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

/// By which a vector must be multiplied to have at most this norm.
float clip_factor(std::span<const float> values, float clip_norm) {
  if (clip_norm == 0) return 1;
  const double norm = std::sqrt(sum_of_squares(values));
  return norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1;
}

}  // namespace

MomentumCorrection::MomentumCorrection(std::unique_ptr<Codec> codec, const MomentumOptions& options,
                                       std::size_t elements)
    : options_(options), elements_(elements), feedback_(std::move(codec), elements) {}

std::string MomentumCorrection::encode(std::span<const float> gradient) {
  MG_CHECK(gradient.size() == elements_);
  velocity_.resize(elements_);
  const float factor = clip_factor(gradient, options_.clip_norm);
  for (std::size_t i = 0; i < velocity_.size(); ++i) {
    velocity_[i] = options_.momentum * velocity_[i] + factor * gradient[i];
  }
  std::string message = feedback_.encode(velocity_);
  if (!options_.masks) return message;
  const std::span<const float> sent = feedback_.sent();
  for (std::size_t i = 0; i < velocity_.size(); ++i) velocity_[i] = sent[i] == 0 ? finite_or_zero(velocity_[i]) : 0;
  return message;
}

}  // namespace mangrove::codec
