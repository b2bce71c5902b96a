#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

/// Nodes that move elements about, resolved against the shape of their data and their constant inputs. In a shape with
/// a symbolic batch nothing may cut, pad or join the batch's dimension; kernels ask again with the batch bound.
/// `constants`: the node's inputs, null where one is left out or no constant.
namespace mangrove {

using Constants = std::span<const Tensor* const>;

/// The elements of a constant of type i64 or i32. `what`: "starts (input 1)".
/// errors: unimplemented (null: not a constant), invalid_argument (another type).
Result<std::vector<std::int64_t>> constant_integers(const Tensor* constant, const std::string& what);
/// The constant at `position`, or null where the node has no such input or leaves it out.
const Tensor* constant_at(Constants constants, std::size_t position);
bool has_input(const Node& node, std::size_t position);

/// Transpose: dimension i of the result is dimension permutation[i] of the data. errors: invalid_argument.
Result<std::vector<std::size_t>> permutation_of(const Node& node, const Shape& data);

/// Split: how many elements along `axis` each output gets. errors: invalid_argument, unimplemented.
Result<std::vector<std::int64_t>> split_sizes(const Node& node, const Shape& data, std::size_t axis,
                                              Constants constants);

/// Slice: element i of the result along one dimension is element start + i step of the data.
struct AxisSlice {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;  // negative for the symbolic batch
};
/// For every dimension of the data. errors: invalid_argument, unimplemented.
Result<std::vector<AxisSlice>> slice_geometry(const Node& node, const Shape& data, Constants constants);

/// Pad: elements added before and after each dimension; negative ones are cut away.
struct PadGeometry {
  enum class Mode { constant, edge, reflect };
  Mode mode = Mode::constant;
  std::vector<std::int64_t> before, after;
  Shape output;
  double value = 0;  // that is added, in mode constant
};
/// errors: invalid_argument, unimplemented.
Result<PadGeometry> pad_geometry(const Node& node, const Shape& data, Constants constants);

/// Tile: how often the data is repeated along each of its dimensions.
/// errors: unimplemented (repeats not constant, the batch repeated), invalid_argument.
Result<std::vector<std::int64_t>> tile_repeats(const Shape& data, Constants constants);

/// Trilu: which part of each matrix [.., H, W] of the data is kept.
struct Triangle {
  bool upper = true;
  std::int64_t diagonal = 0;  // the last (upper: first) one that is kept: 0 is the main one, 1 the one above it

  bool keeps(std::int64_t row, std::int64_t column) const {
    return upper ? column - row >= diagonal : column - row <= diagonal;
  }
};
/// errors: invalid_argument (less than two dimensions), unimplemented (k not constant, the batch one of the two).
Result<Triangle> triangle_of(const Node& node, const Shape& data, Constants constants);

/// DepthToSpace and SpaceToDepth as reshape, transpose, reshape: the data seen as `dims`, permuted.
struct BlockGeometry {
  std::vector<std::int64_t> dims;  // [N, ...] of rank 6
  std::vector<std::size_t> permutation;
  Shape output;
};
/// errors: invalid_argument (not [N, C, H, W], sizes that are no multiples of the block).
Result<BlockGeometry> block_geometry(const Node& node, const Shape& data);

}  // namespace mangrove
