#include "mangrove/graph/tile_neighbourhoods.h"

#include <algorithm>
#include <utility>

#include "mangrove/graph/conv_geometry.h"
#include "mangrove/graph/pool_geometry.h"
#include "mangrove/graph/resize_geometry.h"

namespace mangrove::tile_rules {
namespace {

using Axes = std::array<TileAxis, 2>;
using Kind = TileAxis::Kind;

Axes axes_of(const Window& window) {
  Axes axes;
  for (std::size_t i = 0; i < 2; ++i) {
    axes[i] = {.input = window.input[i],
               .output = window.output[i],
               .extent = window.extent(i),
               .stride = window.strides[i],
               .pad = window.pads_begin[i]};
  }
  return axes;
}

bool is_scaled_by(const Tensor& scales, std::size_t dimension, std::int64_t factor) {
  const auto wanted = static_cast<double>(factor);
  return scales.dtype() == DType::f64 ? scales.as<double>()[dimension] == wanted
                                      : static_cast<double>(scales.as<float>()[dimension]) == wanted;
}

/// Sets how far from its own place in the data an element of the result reads.
void add_reach(const std::vector<ResizeGeometry::Taps>& taps, TileAxis& axis) {
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const std::int64_t place = static_cast<std::int64_t>(i) / axis.stride;
    for (const ResizeGeometry::Tap& tap : taps[i]) {
      axis.before = std::max(axis.before, place - tap.index);
      axis.after = std::max(axis.after, tap.index - place);
    }
  }
}

}  // namespace

TileReads convolution(const TiledNode& at, std::size_t weights) {
  if (at.constant(weights) == nullptr || at.input(0).rank() != 4) return {};
  const Result<ConvGeometry> geometry = conv_geometry(at.node, at.input(0), at.input(weights));
  return geometry.ok() ? from_first(axes_of(geometry->window)) : TileReads{};
}

TileReads transposed_convolution(const TiledNode& at) {
  if (at.constant(1) == nullptr || at.input(0).rank() != 4) return {};
  const Result<ConvGeometry> geometry = conv_transpose_geometry(at.node, at.input(0), at.input(1));
  if (!geometry.ok()) return {};
  Axes axes = axes_of(geometry->window);
  for (TileAxis& axis : axes) {
    axis.kind = Kind::transposed_window;
    std::swap(axis.input, axis.output);
  }
  return from_first(axes);
}

TileReads pooling(const TiledNode& at) {
  if (at.input(0).rank() != 4) return {};
  const Result<PoolGeometry> geometry = pool_geometry(at.node, at.input(0));
  if (!geometry.ok()) return {};
  // What rounding up adds behind the padding is not counted; the padding of a tile would be.
  if (geometry->count_include_pad && at.node.int_or("ceil_mode", 0) != 0) return {};
  const Window& window = geometry->window;
  Axes axes = axes_of(window);
  for (std::size_t i = 0; i < 2; ++i) {  // a dilated window must not miss all of its input, see pool_geometry
    if (window.kernel[i] > 1) axes[i].least = std::min(window.dilations[i], window.input[i]);
  }
  return from_first(axes);
}

TileReads slice(const TiledNode& at) {
  const Result<std::vector<AxisSlice>> slices = slice_geometry(at.node, at.input(0), at.constants());
  if (!slices.ok()) return {};
  Axes axes = axes_between(at.input(0), at.output());
  for (std::size_t i = 0; i < 2; ++i) {
    const AxisSlice& of_plane = (*slices)[slices->size() - 2 + i];
    if (of_plane.step < 0) return {};
    axes[i].stride = of_plane.step;
    axes[i].pad = -of_plane.start;
  }
  return from_first(axes);
}

TileReads pad(const TiledNode& at) {
  const Result<PadGeometry> geometry = pad_geometry(at.node, at.input(0), at.constants());
  if (!geometry.ok()) return {};
  Axes axes = axes_between(at.input(0), at.output());
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t axis = geometry->before.size() - 2 + i;
    const bool is_changed = geometry->before[axis] != 0 || geometry->after[axis] != 0;
    if (is_changed && geometry->mode != PadGeometry::Mode::constant) return {};
    axes[i].pad = geometry->before[axis];
  }
  return from_first(axes);
}

TileReads resize(const TiledNode& at) {
  const Shape& input = at.input(0);
  const Result<ResizeGeometry> geometry = resize_geometry(at.node, input, at.constants());
  const std::string mode = at.node.string_or("coordinate_transformation_mode", "half_pixel");
  if (!geometry.ok() || mode == "tf_crop_and_resize") return {};
  for (std::size_t i = 0; i + 2 < input.rank(); ++i)
    if (input[i] != at.output()[i]) return {};
  Axes axes = axes_between(input, at.output());
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t dimension = input.rank() - 2 + i;
    TileAxis& axis = axes[i];
    axis.kind = Kind::scaled;
    axis.stride = axis.output / axis.input;
    // With another scale than a whole number, or corners that are aligned, places depend on where the plane ends.
    if (axis.stride < 1 || axis.output != axis.stride * axis.input) return {};
    if (has_input(at.node, 2) && !is_scaled_by(*at.constant(2), dimension, axis.stride)) return {};
    if (mode == "align_corners" && axis.stride != 1) return {};
    add_reach(geometry->taps[dimension], axis);
  }
  return from_first(axes);
}

TileReads depth_to_space(const TiledNode& at) {
  Axes axes = axes_between(at.input(0), at.output());
  for (TileAxis& axis : axes) {
    axis.kind = Kind::scaled;
    axis.stride = axis.output / axis.input;
  }
  return from_first(axes);
}

TileReads space_to_depth(const TiledNode& at) {
  Axes axes = axes_between(at.input(0), at.output());
  for (TileAxis& axis : axes) axis.extent = axis.stride = axis.input / axis.output;
  return from_first(axes);
}

}  // namespace mangrove::tile_rules
