#include <algorithm>
#include <array>
#include <cmath>

#include "mangrove/engine/in_parallel.h"
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/grid_geometry.h"

// Jaderberg, Simonyan, Zisserman and Kavukcuoglu, Spatial transformer networks, NIPS 2015.
namespace mangrove::portable {
namespace {

/// Where a number of the grid lies along a dimension of the data.
template <class T>
struct GridCoordinate {
  T position;  // in elements; between -2 and the size + 1, so that it fits into an integer
  T slope;     // of the position by the number of the grid
};

template <class T>
GridCoordinate<T> grid_coordinate(const GridGeometry& g, std::int64_t size, T given) {
  const T length = static_cast<T>(size), last = length - 1;
  const T slope = (g.align_corners ? last : length) / 2;
  GridCoordinate<T> at{slope * (given + 1) - (g.align_corners ? T(0) : T(0.5)), slope};
  if (!std::isfinite(at.position)) at = {T(-2), T(0)};  // outside
  if (g.padding == GridGeometry::Padding::reflection) {
    const T low = g.align_corners ? T(0) : T(-0.5), span = g.align_corners ? last : length;
    const T distance = std::abs(at.position - low), turns = span > 0 ? std::floor(distance / span) : T(0);
    const T rest = span > 0 ? distance - turns * span : T(0);
    const bool is_turned = std::fmod(turns, T(2)) != 0;
    if ((at.position < low) != is_turned) at.slope = -at.slope;
    at.position = low + (is_turned ? span - rest : rest);
  }
  const bool stays_inside = g.padding != GridGeometry::Padding::zeros;
  const T lowest = stays_inside ? T(0) : T(-2), highest = stays_inside ? last : length + 1;
  if (at.position < lowest || at.position > highest) at = {std::clamp(at.position, lowest, highest), T(0)};
  return at;
}

/// One of the elements of a plane that a point is interpolated from.
template <class T>
struct GridTap {
  std::int64_t offset;         // in the plane; -1 outside of it
  T weight;                    // of the element
  T weight_by_x, weight_by_y;  // its derivatives by the numbers of the grid
};

template <class T>
std::array<GridTap<T>, 4> grid_taps(const GridGeometry& g, const T* point) {
  const GridCoordinate<T> x = grid_coordinate(g, g.width, point[0]), y = grid_coordinate(g, g.height, point[1]);
  const T left = g.is_nearest ? std::nearbyint(x.position) : std::floor(x.position);
  const T above = g.is_nearest ? std::nearbyint(y.position) : std::floor(y.position);
  const T right = g.is_nearest ? T(0) : x.position - left, below = g.is_nearest ? T(0) : y.position - above;
  std::array<GridTap<T>, 4> taps;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const bool is_right = i % 2 == 1, is_below = i >= 2;
    const auto column = static_cast<std::int64_t>(left) + (is_right ? 1 : 0);
    const auto row = static_cast<std::int64_t>(above) + (is_below ? 1 : 0);
    const bool is_inside = column >= 0 && column < g.width && row >= 0 && row < g.height;
    const T along_x = is_right ? right : T(1) - right, along_y = is_below ? below : T(1) - below;
    taps[i] = {is_inside ? row * g.width + column : -1, along_x * along_y,
               g.is_nearest ? T(0) : (is_right ? x.slope : -x.slope) * along_y,
               g.is_nearest ? T(0) : (is_below ? y.slope : -y.slope) * along_x};
  }
  return taps;
}

/// visit(sample, point of the output plane, its taps) for all; threads share the samples.
template <class T, class Visit>
void for_each_grid_point(const GridGeometry& g, int threads, const T* grid, Visit visit) {
  const std::int64_t points = g.output_height * g.output_width;
  in_parallel(g.batch, threads_for(g.batch * points * g.channels, threads), [&](std::int64_t sample) {
    for (std::int64_t point = 0; point < points; ++point)
      visit(sample, point, grid_taps(g, grid + (sample * points + point) * 2));
  });
}

template <class T>
Step grid_forward(const KernelRequest& request, const GridGeometry& g) {
  const Node& node = request.node;
  return make_step(request, "forward",
                   {read_value(node.inputs[0]), read_value(node.inputs[1]), write_value(request.output_names[0])},
                   [g, threads = request.threads](const Buffers& buffers) {
                     const std::int64_t plane = g.height * g.width, points = g.output_height * g.output_width;
                     for_each_grid_point(g, threads, buffers.as<const T>(1), [&](auto sample, auto point, auto taps) {
                       for (std::int64_t c = sample * g.channels; c < (sample + 1) * g.channels; ++c) {
                         T sum = 0;
                         for (const GridTap<T>& tap : taps)
                           if (tap.offset >= 0) sum += tap.weight * buffers.as<const T>(0)[c * plane + tap.offset];
                         buffers.as<T>(2)[c * points + point] = sum;
                       }
                     });
                   });
}

template <class T>
Step grid_data_gradient(const KernelRequest& request, const GridGeometry& g) {
  const Node& node = request.node;
  return make_step(request, "backward data",
                   {read_gradient(request.output_names[0]), read_value(node.inputs[1]), write_gradient(node.inputs[0])},
                   [g, threads = request.threads](const Buffers& buffers) {
                     const std::int64_t plane = g.height * g.width, points = g.output_height * g.output_width;
                     T* diff = buffers.as<T>(2);
                     std::fill_n(diff, g.batch * g.channels * plane, T(0));
                     for_each_grid_point(g, threads, buffers.as<const T>(1), [&](auto sample, auto point, auto taps) {
                       for (std::int64_t c = sample * g.channels; c < (sample + 1) * g.channels; ++c) {
                         const T dy = buffers.as<const T>(0)[c * points + point];
                         for (const GridTap<T>& tap : taps)
                           if (tap.offset >= 0) diff[c * plane + tap.offset] += tap.weight * dy;
                       }
                     });
                   });
}

template <class T>
Step grid_points_gradient(const KernelRequest& request, const GridGeometry& g) {
  const Node& node = request.node;
  return make_step(request, "backward grid",
                   {read_gradient(request.output_names[0]), read_value(node.inputs[0]), read_value(node.inputs[1]),
                    write_gradient(node.inputs[1])},
                   [g, threads = request.threads](const Buffers& buffers) {
                     const std::int64_t plane = g.height * g.width, points = g.output_height * g.output_width;
                     for_each_grid_point(g, threads, buffers.as<const T>(2), [&](auto sample, auto point, auto taps) {
                       T by_x = 0, by_y = 0;
                       for (std::int64_t c = sample * g.channels; c < (sample + 1) * g.channels; ++c) {
                         const T dy = buffers.as<const T>(0)[c * points + point];
                         for (const GridTap<T>& tap : taps) {
                           if (tap.offset < 0) continue;
                           const T element = buffers.as<const T>(1)[c * plane + tap.offset];
                           by_x += dy * tap.weight_by_x * element;
                           by_y += dy * tap.weight_by_y * element;
                         }
                       }
                       T* diff = buffers.as<T>(3) + (sample * points + point) * 2;
                       diff[0] = by_x;
                       diff[1] = by_y;
                     });
                   });
}

}  // namespace

Result<NodeKernels> make_grid_sample(const KernelRequest& request) {
  MG_TRY(const GridGeometry g, grid_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape));
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    NodeKernels kernels;
    kernels.forward.push_back(grid_forward<T>(request, g));
    if (wants_gradient(request, 0)) kernels.backward.push_back(grid_data_gradient<T>(request, g));
    if (wants_gradient(request, 1)) kernels.backward.push_back(grid_points_gradient<T>(request, g));
    return kernels;
  });
}

}  // namespace mangrove::portable
