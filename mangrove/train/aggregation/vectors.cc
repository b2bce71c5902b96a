#include "mangrove/train/aggregation/vectors.h"

#include <array>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {

void Vectors::add(std::string_view floats, float scale) {
  MG_CHECK(floats.size() == elements_ * sizeof(float));  // the caller has checked the length
  vectors_.push_back({floats, scale});
}

void Vectors::read(std::size_t vector, std::size_t first, std::span<float> out) const {
  const Vector& from = vectors_[vector];
  MG_CHECK(net::read_floats(from.floats.substr(first * sizeof(float), out.size_bytes()), out).ok());
  if (from.scale == 1) return;
  for (float& value : out) value *= from.scale;
}

bool Vectors::is_finite(std::size_t vector) const {
  std::array<float, kBlock> block;
  for (std::size_t first = 0; first < elements_; first += kBlock) {
    const std::span<float> some = std::span(block).first(std::min(kBlock, elements_ - first));
    read(vector, first, some);
    if (!std::ranges::all_of(some, [](float value) { return std::isfinite(value); })) return false;
  }
  return true;
}

Vectors Vectors::finite() const {
  Vectors sound(elements_);
  for (std::size_t i = 0; i < count(); ++i)
    if (is_finite(i)) sound.vectors_.push_back(vectors_[i]);
  return sound;
}

}  // namespace mangrove::train
