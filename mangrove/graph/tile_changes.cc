#include "mangrove/graph/tile_changes.h"

#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/movement_geometry.h"

namespace mangrove {
namespace {

using Integers = std::vector<std::int64_t>;

Tensor vector_of(const Integers& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

/// Of a node whose integers have been read before: when the whole graph was made.
Integers integers_of(const TileChange& tile, std::size_t input) {
  return constant_integers(&tile.graph.initializers().at(tile.node.inputs[input]), "a constant").value();
}

std::pair<std::int64_t, std::int64_t> padding_along(const TileChange& tile, std::size_t axis) {
  return padding_of_tile(tile.reads.maps[0].axes[axis], interval(tile.made, axis));
}

/// Replaces the last two of the numbers, those of the plane.
Tensor with_plane(Integers values, std::int64_t rows, std::int64_t columns) {
  values[values.size() - 2] = rows;
  values[values.size() - 1] = columns;
  return vector_of(values);
}

/// The region of each plane, along those dimensions of it that the tensor has.
Tensor cut_plane(const Tensor& whole, const Region& region) {
  Integers dims = whole.shape().dims();
  const std::size_t rank = dims.size();
  const bool cuts_rows = rank > 1 && dims[rank - 2] > 1, cuts_columns = dims[rank - 1] > 1;
  const Interval rows = cuts_rows ? interval(region, 0) : Interval{0, 1};
  const Interval columns = cuts_columns ? interval(region, 1) : Interval{0, 1};
  const std::int64_t height = rank > 1 ? dims[rank - 2] : 1, width = dims[rank - 1];
  if (rank > 1) dims[rank - 2] = rows.size();
  dims[rank - 1] = columns.size();
  Tensor part(whole.dtype(), Shape(std::move(dims)));
  const auto element = static_cast<std::int64_t>(size_of(whole.dtype()));
  const auto bytes = static_cast<std::size_t>(columns.size() * element);
  std::byte* to = part.data();
  for (std::int64_t plane = 0; plane < whole.elements() / (height * width); ++plane) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      std::memcpy(to, whole.data() + ((plane * height + row) * width + columns.begin) * element, bytes);
      to += bytes;
    }
  }
  return part;
}

}  // namespace

NewConstants keep_node(TileChange& /*tile*/) {
  return {};
}

NewConstants set_padding(TileChange& tile) {
  const auto [top, bottom] = padding_along(tile, 0);
  const auto [left, right] = padding_along(tile, 1);
  tile.node.attributes["pads"] = Integers{top, left, bottom, right};
  tile.node.attributes.erase("auto_pad");
  tile.node.attributes.erase("ceil_mode");
  return {};
}

NewConstants set_transposed_padding(TileChange& tile) {
  const auto [top, bottom] = padding_along(tile, 0);
  const auto [left, right] = padding_along(tile, 1);
  const auto cut = [](std::int64_t padding) { return padding > 0 ? padding : 0; };
  tile.node.attributes["pads"] = Integers{top, left, cut(bottom), cut(right)};
  tile.node.attributes["output_padding"] = Integers{cut(-bottom), cut(-right)};
  tile.node.attributes.erase("auto_pad");
  tile.node.attributes.erase("output_shape");
  return {};
}

NewConstants cut_planes(TileChange& tile) {
  NewConstants constants;
  for (std::size_t i = 0; i < tile.node.inputs.size(); ++i) {
    const auto found = tile.graph.initializers().find(tile.node.inputs[i]);
    if (found != tile.graph.initializers().end() && has_plane(found->second.shape()))
      constants.emplace(i, cut_plane(found->second, tile.made));
  }
  return constants;
}

NewConstants set_plane_of_shape(TileChange& tile) {
  return {{1, with_plane(integers_of(tile, 1), tile.made.rows(), tile.made.columns())}};
}

NewConstants set_sizes(TileChange& tile) {
  if (!has_input(tile.node, 3)) return {};
  return {{3, with_plane(integers_of(tile, 3), tile.made.rows(), tile.made.columns())}};
}

NewConstants set_starts_and_ends(TileChange& tile) {
  const Shape& data = tile.graph.value(tile.node.inputs[0]).shape;
  Integers starts = integers_of(tile, 1), ends = integers_of(tile, 2);
  const Integers axes = has_input(tile.node, 3) ? integers_of(tile, 3) : Integers();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = axes.empty() ? i : resolve_axis(axes[i], data).value();
    if (axis + 2 < data.rank()) continue;
    starts[i] = 0;
    ends[i] = std::numeric_limits<std::int64_t>::max();
  }
  return {{1, vector_of(starts)}, {2, vector_of(ends)}};
}

NewConstants set_pads(TileChange& tile) {
  Integers pads = integers_of(tile, 1);  // before each dimension, then after each
  const std::size_t rank = pads.size() / 2;
  for (std::size_t axis = 0; axis < 2; ++axis)
    std::tie(pads[rank - 2 + axis], pads[2 * rank - 2 + axis]) = padding_along(tile, axis);
  return {{1, vector_of(pads)}};
}

bool has_plane(const Shape& constant) {
  const std::size_t rank = constant.rank();
  return (rank > 0 && constant[rank - 1] > 1) || (rank > 1 && constant[rank - 2] > 1);
}

}  // namespace mangrove
