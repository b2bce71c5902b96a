#pragma once

#include <cstdint>

#include "mangrove/engine/simd/convolution_grid.h"
#include "mangrove/graph/conv_geometry.h"

/// The weights of one group's map, as products read them: [blocks of the sum, tiles of results, elements of the sum,
/// results of a tile]. A sum goes over (tap, source channel). Results are the rows of a product's tile, or its columns;
/// then zeros follow the last one.
namespace mangrove::simd {

/// Where the plain weights lie; the stride of taps is 1.
struct WeightOrder {
  std::int64_t results, sources;  // channels
  std::int64_t result_stride, source_stride;
};

WeightOrder forward_order(const ConvGeometry& geometry);
WeightOrder transposed_order(const ConvGeometry& geometry);

/// Where element k of a sum over `sum` elements lies for one result, in tiles of rows.
std::int64_t place_in_rows(std::int64_t results, std::int64_t sum, std::int64_t k, std::int64_t result);

std::int64_t elements_in_rows(const Grid& grid, const WeightOrder& order);
void pack_in_rows(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed);
void unpack_from_rows(const Grid& grid, const WeightOrder& order, const float* packed, float* weights);

std::int64_t elements_in_columns(const Grid& grid, const WeightOrder& order);
void pack_in_columns(const Grid& grid, const WeightOrder& order, int threads, const float* weights, float* packed);
void unpack_from_columns(const Grid& grid, const WeightOrder& order, const float* packed, float* weights);

}  // namespace mangrove::simd
