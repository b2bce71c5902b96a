#include "mangrove/engine/simd/packed_weights.h"

#include "mangrove/engine/simd/grid_algorithm.h"

namespace mangrove::simd {

PackedWeights::PackedWeights(const ConvolutionGrids& grids)
    : groups_(grids.geometry.group), order_(forward_order(grids.geometry)), grid_(grids.forward) {}

std::int64_t PackedWeights::plain_elements() const {
  return order_.results * order_.sources * static_cast<std::int64_t>(grid_.taps.size());
}

std::int64_t PackedWeights::packed_elements() const {
  return grid_.algorithm->packed_elements(grid_, order_);
}

Bytes PackedWeights::bytes() const {
  return groups_ * packed_elements() * static_cast<Bytes>(sizeof(float));
}

bool PackedWeights::equals(const Layout& other) const {
  const auto* packed = dynamic_cast<const PackedWeights*>(&other);
  return packed != nullptr && packed->groups_ == groups_ && packed->order_.results == order_.results &&
         packed->order_.sources == order_.sources && packed->grid_.taps.size() == grid_.taps.size() &&
         packed->grid_.algorithm == grid_.algorithm;
}

std::string PackedWeights::describe() const {
  return std::string("packed ") + grid_.algorithm->weights;
}

void PackedWeights::pack(const float* plain, float* packed) const {
  for (std::int64_t group = 0; group < groups_; ++group)
    grid_.algorithm->pack(grid_, order_, 1, plain + group * plain_elements(), packed + group * packed_elements());
}

void PackedWeights::unpack(const float* packed, float* plain) const {
  for (std::int64_t group = 0; group < groups_; ++group)
    grid_.algorithm->unpack(grid_, order_, packed + group * packed_elements(), plain + group * plain_elements());
}

}  // namespace mangrove::simd
