#include "mangrove/engine/simd/packed_weights.h"

#include <string>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/simd/few_positions.h"
#include "mangrove/engine/simd/winograd.h"

namespace mangrove::simd {

WeightOrder forward_order(const ConvGeometry& g) {
  const std::int64_t taps = g.window.taps(), inputs = g.input_channels_per_group();
  return {g.output_channels_per_group(), inputs, inputs * taps, taps};
}

WeightOrder transposed_order(const ConvGeometry& g) {
  const std::int64_t taps = g.window.taps(), inputs = g.input_channels_per_group();
  return {inputs, g.output_channels_per_group(), taps, inputs * taps};
}

std::int64_t packed_elements(const Grid& grid, const WeightOrder& order) {
  if (grid.algorithm == MapAlgorithm::winograd) return winograd_elements(order);
  if (grid.algorithm == MapAlgorithm::few_positions)
    return few_positions_elements(order, static_cast<std::int64_t>(grid.taps.size()));
  return order.results * order.sources * static_cast<std::int64_t>(grid.taps.size());
}

void pack_weights(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed) {
  if (grid.algorithm == MapAlgorithm::winograd) return winograd_pack(order, grid.taps, threads, weights, packed);
  if (grid.algorithm == MapAlgorithm::few_positions)
    return pack_for_few_positions(order, grid.taps, threads, weights, packed);
  const std::int64_t rows = micro_kernels().rows;
  in_parallel(ceil_div(order.results, rows), threads, [&](std::int64_t i) {
    order.for_each_column(grid.taps, i * rows, [&](std::int64_t to, std::int64_t count, std::int64_t from) {
      for (std::int64_t r = 0; r < count; ++r) packed[to + r] = weights[from + r * order.result_stride];
    });
  });
}

PackedWeights::PackedWeights(const ConvolutionGrids& grids)
    : groups_(grids.geometry.group), order_(forward_order(grids.geometry)), grid_(grids.forward) {}

std::int64_t PackedWeights::plain_elements() const {
  return order_.results * order_.sources * static_cast<std::int64_t>(grid_.taps.size());
}

Bytes PackedWeights::bytes() const {
  return groups_ * packed_elements(grid_, order_) * static_cast<Bytes>(sizeof(float));
}

bool PackedWeights::equals(const Layout& other) const {
  const auto* packed = dynamic_cast<const PackedWeights*>(&other);
  return packed != nullptr && packed->groups_ == groups_ && packed->order_.results == order_.results &&
         packed->order_.sources == order_.sources && packed->grid_.taps.size() == grid_.taps.size() &&
         packed->grid_.algorithm == grid_.algorithm;
}

std::string PackedWeights::describe() const {
  switch (grid_.algorithm) {
    case MapAlgorithm::winograd:
      return "transformed, packed in tiles of " + std::to_string(micro_kernels().rows) + " rows";
    case MapAlgorithm::few_positions:
      return "packed in tiles of " + std::to_string(micro_kernels().columns) + " columns";
    default:
      return "packed in tiles of " + std::to_string(micro_kernels().rows) + " rows";
  }
}

void PackedWeights::pack(const float* plain, float* packed) const {
  for (std::int64_t group = 0; group < groups_; ++group) {
    pack_weights(grid_, order_, 1, plain + group * plain_elements(), packed + group * packed_elements(grid_, order_));
  }
}

void PackedWeights::unpack(const float* packed, float* plain) const {
  for (std::int64_t group = 0; group < groups_; ++group) {
    if (grid_.algorithm == MapAlgorithm::winograd) {
      winograd_unpack(order_, grid_.taps, packed, plain);
    } else if (grid_.algorithm == MapAlgorithm::few_positions) {
      unpack_from_few_positions(order_, grid_.taps, packed, plain);
    } else {
      for (std::int64_t row = 0; row < order_.results; row += micro_kernels().rows) {
        order_.for_each_column(grid_.taps, row, [&](std::int64_t from, std::int64_t count, std::int64_t to) {
          for (std::int64_t r = 0; r < count; ++r) plain[to + r * order_.result_stride] = packed[from + r];
        });
      }
    }
    packed += packed_elements(grid_, order_);
    plain += plain_elements();
  }
}

}  // namespace mangrove::simd
