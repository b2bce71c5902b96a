#include "mangrove/engine/simd/packed_weights.h"

#include <string>

namespace mangrove::simd {

WeightOrder forward_order(const ConvGeometry& g) {
  const std::int64_t taps = g.window.taps(), inputs = g.input_channels_per_group();
  return {g.output_channels_per_group(), inputs, inputs * taps, taps};
}

WeightOrder transposed_order(const ConvGeometry& g) {
  const std::int64_t taps = g.window.taps(), inputs = g.input_channels_per_group();
  return {inputs, g.output_channels_per_group(), taps, inputs * taps};
}

void pack_weights(const WeightOrder& order, const std::vector<Tap>& taps, const float* weights, int threads,
                  float* packed) {
  const std::int64_t rows = micro_kernels().rows;
  in_parallel(ceil_div(order.results, rows), threads, [&](std::int64_t i) {
    order.for_each_column(taps, i * rows, [&](std::int64_t to, std::int64_t count, std::int64_t from) {
      for (std::int64_t r = 0; r < count; ++r) packed[to + r] = weights[from + r * order.result_stride];
    });
  });
}

PackedWeights::PackedWeights(const ConvGeometry& geometry)
    : groups_(geometry.group), order_(forward_order(geometry)), taps_(forward_grid(geometry).taps) {}

std::int64_t PackedWeights::group_elements() const {
  return order_.results * order_.sources * static_cast<std::int64_t>(taps_.size());
}

Bytes PackedWeights::bytes() const {
  return groups_ * group_elements() * static_cast<Bytes>(sizeof(float));
}

bool PackedWeights::equals(const Layout& other) const {
  const auto* packed = dynamic_cast<const PackedWeights*>(&other);
  return packed != nullptr && packed->groups_ == groups_ && packed->order_.results == order_.results &&
         packed->order_.sources == order_.sources && packed->taps_.size() == taps_.size();
}

std::string PackedWeights::describe() const {
  return "packed in tiles of " + std::to_string(micro_kernels().rows) + " rows";
}

void PackedWeights::pack(const float* plain, float* packed) const {
  for (std::int64_t group = 0; group < groups_; ++group) {
    pack_weights(order_, taps_, plain + group * group_elements(), 1, packed + group * group_elements());
  }
}

void PackedWeights::unpack(const float* packed, float* plain) const {
  for (std::int64_t group = 0; group < groups_; ++group, packed += group_elements(), plain += group_elements()) {
    for (std::int64_t row = 0; row < order_.results; row += micro_kernels().rows) {
      order_.for_each_column(taps_, row, [&](std::int64_t from, std::int64_t count, std::int64_t to) {
        for (std::int64_t r = 0; r < count; ++r) plain[to + r * order_.result_stride] = packed[from + r];
      });
    }
  }
}

}  // namespace mangrove::simd
