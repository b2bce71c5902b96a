#include "mangrove/train/data_parallel/private_update.h"

#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/learn/clip.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {

void PrivateUpdate::begin() {
  std::ranges::fill(sum_, 0.0f);
}

void PrivateUpdate::add(std::string_view body) {
  MG_CHECK(net::read_floats(body.substr(0, part_.size() * sizeof(float)), part_).ok());  // its length was checked
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += part_[i];
}

void PrivateUpdate::add_clipped(std::string_view body, double scale, double norm) {
  MG_CHECK(net::read_floats(body.substr(0, part_.size() * sizeof(float)), part_).ok());
  const double factor = scale * learn::clip_factor(scale * scale * learn::sum_of_squares(part_), norm);
  if (factor == 0) return;
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += static_cast<float>(factor * part_[i]);
}

std::span<const float> PrivateUpdate::finish(double deviation, double expected, privacy::NoiseSource& noise) {
  noise.add_normal(deviation, sum_);
  for (float& value : sum_) value = static_cast<float>(value / expected);
  return sum_;
}

}  // namespace mangrove::train
