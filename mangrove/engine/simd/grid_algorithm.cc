#include "mangrove/engine/simd/grid_algorithm.h"

#include <algorithm>
#include <array>

#include "mangrove/engine/simd/few_positions.h"
#include "mangrove/engine/simd/im2col_convolution.h"
#include "mangrove/engine/simd/indirect_convolution.h"
#include "mangrove/engine/simd/winograd.h"

namespace mangrove::simd {
namespace {

constexpr std::array kGridAlgorithms{
    GridAlgorithm{"transformed, in tiles of rows", suits_winograd, winograd_elements, pack_for_winograd,
                  unpack_from_winograd, winograd_scratch, map_winograd},
    GridAlgorithm{"in tiles of rows", suits_indirect, elements_in_rows, pack_in_rows, unpack_from_rows,
                  indirect_scratch, map_indirect},
    GridAlgorithm{"in tiles of columns", suits_few_positions, elements_in_columns, pack_in_columns, unpack_from_columns,
                  few_positions_scratch, map_few_positions},
    GridAlgorithm{"in tiles of rows", suits_im2col, elements_in_rows, pack_in_rows, unpack_from_rows, im2col_scratch,
                  map_im2col},
};

}  // namespace

const GridAlgorithm& choose_algorithm(const Grid& grid, const MapShape& shape) {
  return *std::ranges::find_if(kGridAlgorithms,
                               [&](const GridAlgorithm& algorithm) { return algorithm.suits(grid, shape); });
}

}  // namespace mangrove::simd
