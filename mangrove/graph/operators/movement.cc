#include <limits>
#include <vector>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/grid_geometry.h"
#include "mangrove/graph/movement_geometry.h"
#include "mangrove/graph/operators/rows.h"
#include "mangrove/graph/operators/rules.h"
#include "mangrove/graph/resize_geometry.h"

namespace mangrove::rows {
namespace {

using Infos = std::vector<ValueInfo>;
using Kind = Operator::AttributeKind;

// Whether b can be joined to a along `axis`.
bool joins(const Shape& a, const Shape& b, std::size_t axis) {
  if (a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

Result<Infos> infer_concat(const Node& node, const OperatorInputs& inputs) {
  if (!node.attributes.contains("axis")) return make_error(Code::invalid_argument, "attribute axis is missing");
  if (inputs.values[0] == nullptr) return make_error(Code::invalid_argument, "input 0 is left out");
  ValueInfo joined = *inputs.values[0];
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", 0), joined.shape));
  if (joined.shape[axis] < 0) {
    return make_error(Code::unimplemented,
                      "input 0 of shape " + to_string(joined.shape) + " is joined along its batch");
  }
  for (std::size_t i = 1; i < inputs.values.size(); ++i) {
    const ValueInfo* info = inputs.values[i];
    if (info == nullptr || info->dtype != joined.dtype || !joins(joined.shape, info->shape, axis)) {
      return make_error(Code::invalid_argument,
                        "input " + std::to_string(i) + " is " +
                            (info == nullptr ? "left out" : dtype_name(info->dtype) + (" " + to_string(info->shape))) +
                            ", which does not join to " + dtype_name(joined.dtype) + " " + to_string(joined.shape) +
                            " along dimension " + std::to_string(axis));
    }
    joined.shape[axis] += info->shape[axis];
  }
  return Infos{joined};
}

/// Concat: the inputs one after the other along `axis`.
Operator concat() {
  Operator row = moving_operator("Concat", 1, std::numeric_limits<std::int32_t>::max(), {{"axis", Kind::integer}});
  row.infer = infer_concat;
  return row;
}

Result<Infos> infer_split(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo& data = *inputs.values[0];
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", 0), data.shape));
  MG_TRY(const std::vector<std::int64_t> sizes, split_sizes(node, data.shape, axis, inputs.constants));
  Infos parts(sizes.size(), data);
  for (std::size_t i = 0; i < sizes.size(); ++i) parts[i].shape[axis] = sizes[i];
  return parts;
}

/// Split: the parts of the data along `axis`, as long as the constant input 1 says, or equal.
Operator split() {
  Operator row = moving_operator("Split", 1, 2, {{"axis", Kind::integer}});
  row.constants = {1};
  row.max_outputs = std::numeric_limits<std::int32_t>::max();
  row.infer = infer_split;
  return row;
}

Result<Infos> infer_slice(const Node& node, const OperatorInputs& inputs) {
  ValueInfo info = *inputs.values[0];
  MG_TRY(const std::vector<AxisSlice> slices, slice_geometry(node, info.shape, inputs.constants));
  for (std::size_t i = 0; i < slices.size(); ++i) info.shape[i] = slices[i].count;
  return Infos{info};
}

/// Slice: data[start:end:step] as numpy has it, along the axes of constant input 3 (or the first ones).
Operator slice() {
  Operator row = moving_operator("Slice", 3, 5, {});
  row.constants = {1, 2, 3, 4};
  row.infer = infer_slice;
  return row;
}

Result<Infos> infer_pad(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(PadGeometry geometry, pad_geometry(node, inputs.values[0]->shape, inputs.constants));
  return Infos{{inputs.values[0]->dtype, std::move(geometry.output)}};
}

/// Pad: constant input 1 says how much before and after each dimension; the value is constant input 2, the nearest
/// element (edge) or the one mirrored at the border (reflect).
Operator pad() {
  Operator row = moving_operator("Pad", 2, 3, {{"mode", Kind::string}});
  row.constants = {1, 2};
  row.infer = infer_pad;
  return row;
}

Result<Infos> infer_transpose(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo& data = *inputs.values[0];
  MG_TRY(const std::vector<std::size_t> permutation, permutation_of(node, data.shape));
  ValueInfo turned = data;
  for (std::size_t i = 0; i < permutation.size(); ++i) turned.shape[i] = data.shape[permutation[i]];
  return Infos{turned};
}

/// Transpose: dimension i of the result is dimension perm[i] of the data.
Operator transpose() {
  Operator row = moving_operator("Transpose", 1, 1, {{"perm", Kind::integers}});
  row.parameters = {0};
  row.infer = infer_transpose;
  return row;
}

Result<Infos> infer_gather(const Node& node, const OperatorInputs& inputs) {
  const ValueInfo &data = *inputs.values[0], &indices = *inputs.values[1];
  MG_TRY(const std::size_t axis, resolve_axis(node.int_or("axis", 0), data.shape));
  if (indices.dtype != DType::i64 && indices.dtype != DType::i32) {
    return make_error(Code::invalid_argument, std::string("indices (input 1) have type ") + dtype_name(indices.dtype) +
                                                  ", expected i64 or i32");
  }
  const std::int64_t size = data.shape[axis];
  if (size < 0) {
    return make_error(Code::unimplemented, "input " + to_string(data.shape) + " is gathered along its batch");
  }
  if (const Tensor* constant = inputs.constants[1]; constant != nullptr) {
    MG_TRY(const auto values, constant_integers(constant, "indices (input 1)"));
    for (const std::int64_t index : values) {
      if (index >= -size && index < size) continue;
      return make_error(Code::invalid_argument, "index " + std::to_string(index) + " is outside dimension " +
                                                    std::to_string(axis) + " of input " + to_string(data.shape));
    }
  }
  const auto& dims = data.shape.dims();
  const auto cut = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  std::vector<std::int64_t> result(dims.begin(), cut);
  result.insert(result.end(), indices.shape.begin(), indices.shape.end());
  result.insert(result.end(), cut + 1, dims.end());
  return Infos{{data.dtype, Shape(std::move(result))}};
}

/// Gather: the slices of the data along `axis` that the indices name, e.g. rows of an embedding; negative ones count
/// from the end. A fed index that does not exist gives zeros.
Operator gather() {
  Operator row = moving_operator("Gather", 2, 2, {{"axis", Kind::integer}});
  row.parameters = {0};
  row.infer = infer_gather;
  return row;
}

Result<Infos> infer_blocks(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(BlockGeometry geometry, block_geometry(node, inputs.values[0]->shape));
  return Infos{{inputs.values[0]->dtype, std::move(geometry.output)}};
}

/// DepthToSpace: blocks of channels become squares of pixels: [N, C b b, H, W] to [N, C, H b, W b].
Operator depth_to_space() {
  Operator row = moving_operator("DepthToSpace", 1, 1, {{"blocksize", Kind::integer}, {"mode", Kind::string}});
  row.infer = infer_blocks;
  return row;
}

/// SpaceToDepth: the reverse of DepthToSpace (mode DCR).
Operator space_to_depth() {
  Operator row = moving_operator("SpaceToDepth", 1, 1, {{"blocksize", Kind::integer}});
  row.infer = infer_blocks;
  return row;
}

Result<Infos> infer_resize(const Node& node, const OperatorInputs& inputs) {
  MG_TRY(ResizeGeometry geometry, resize_geometry(node, inputs.values[0]->shape, inputs.constants));
  if (!geometry.is_nearest) MG_RETURN_IF_ERROR(check_floating(inputs, {0}));
  return Infos{{inputs.values[0]->dtype, std::move(geometry.output)}};
}

// A multiply-add for each pair of elements that one dimension after the other weights.
OperatorCost resize_cost(const Node& node, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  const int taps = node.string_or("mode", "nearest") == "nearest" ? 0 : node.string_or("mode", "") == "linear" ? 2 : 4;
  const Shape &from = inputs.values[0]->shape, &to = outputs[0].shape;
  double flops = taps == 0 ? 0 : 2;
  for (std::size_t i = 0; i < to.rank(); ++i) flops *= from[i] == to[i] ? 1 : taps;
  OperatorCost cost = traffic(inputs, outputs);
  cost.flops = flops * static_cast<double>(to.elements());
  return cost;
}

/// Resize: nearest, linear or cubic interpolation along each dimension, by constant scales (input 2) or to constant
/// sizes (input 3).
Operator resize() {
  Operator row = moving_operator("Resize", 1, 4,
                                 {{"coordinate_transformation_mode", Kind::string},
                                  {"cubic_coeff_a", Kind::real},
                                  {"exclude_outside", Kind::integer},
                                  {"extrapolation_value", Kind::real},
                                  {"mode", Kind::string},
                                  {"nearest_mode", Kind::string}});
  row.constants = {1, 2, 3};
  row.infer = infer_resize;
  row.cost = resize_cost;
  return row;
}

Result<Infos> infer_grid_sample(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(check_floating(inputs, {0, 1}));
  MG_TRY(const GridGeometry geometry, grid_geometry(node, inputs.values[0]->shape, inputs.values[1]->shape));
  return Infos{{inputs.values[0]->dtype, geometry.output()}};
}

// Four multiply-adds for each element.
OperatorCost grid_sample_cost(const Node&, const OperatorInputs& inputs, std::span<const ValueInfo> outputs) {
  return elementwise_cost(inputs, outputs, 8);
}

/// GridSample: the data at the points of a grid, see GridGeometry.
Operator grid_sample() {
  Operator row = moving_operator(
      "GridSample", 2, 2, {{"align_corners", Kind::integer}, {"mode", Kind::string}, {"padding_mode", Kind::string}});
  row.infer = infer_grid_sample;
  row.cost = grid_sample_cost;
  return row;
}

Result<Infos> infer_tile(const Node&, const OperatorInputs& inputs) {
  ValueInfo info = *inputs.values[0];
  MG_TRY(const std::vector<std::int64_t> repeats, tile_repeats(info.shape, inputs.constants));
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] != 1) info.shape[i] *= repeats[i];
  }
  return Infos{info};
}

/// Tile: the data repeated along each dimension as often as constant input 1 says.
Operator tile() {
  Operator row = moving_operator("Tile", 2, 2, {});
  row.constants = {1};
  row.infer = infer_tile;
  return row;
}

Result<Infos> infer_trilu(const Node& node, const OperatorInputs& inputs) {
  MG_RETURN_IF_ERROR(triangle_of(node, inputs.values[0]->shape, inputs.constants));
  return Infos{*inputs.values[0]};
}

/// Trilu: the elements of each matrix [..., H, W] that lie on diagonal k (constant input 1) and above it, or with
/// `upper` 0 below it; the others are 0.
Operator trilu() {
  Operator row = moving_operator("Trilu", 1, 2, {{"upper", Kind::integer}});
  row.constants = {1};
  row.infer = infer_trilu;
  return row;
}

}  // namespace

std::vector<Operator> movement() {
  return {concat(), split(),          slice(),          pad(),  transpose(),   gather(),
          resize(), depth_to_space(), space_to_depth(), tile(), grid_sample(), trilu()};
}

}  // namespace mangrove::rows
