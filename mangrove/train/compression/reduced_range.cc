#include "mangrove/train/compression/reduced_range.h"

#include <cmath>

namespace mangrove::train {

std::span<float> ReducedRange::begin(std::span<const float> values) {
  given_.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < given_.size(); ++i) given_[i] += residual_[i];
  return codec_->begin(given_);
}

void ReducedRange::keep() {
  codec_->contribution(residual_);
  for (std::size_t i = 0; i < residual_.size(); ++i) {
    const float left = given_[i] - residual_[i];
    residual_[i] = std::isfinite(left) ? left : 0;
  }
  codec_->keep();
}

}  // namespace mangrove::train
