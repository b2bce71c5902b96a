#include "mangrove/engine/portable/axis_maps_step.h"
#include "mangrove/engine/portable/movement.h"
#include "mangrove/engine/portable/portable_step.h"
#include "mangrove/graph/resize_geometry.h"

namespace mangrove::portable {
namespace {

/// Linear and cubic interpolation: each element of the result is a weighted sum of elements of the data, the weight the
/// product of one along each dimension.
class Interpolation {
 public:
  Interpolation(const Shape& data, const ResizeGeometry& geometry)
      : data_elements_(data.elements()),
        elements_(geometry.output.elements()),
        extrapolation_value_(geometry.extrapolation_value) {
    for (std::size_t k = 0; k < data.rank(); ++k) {
      axes_.push_back(
          {geometry.taps[k], data.elements(k + 1, data.rank()), geometry.output.elements(k + 1, data.rank())});
    }
  }

  template <class T>
  void forward(const T* x, T* y) const {
    std::fill_n(y, elements_, T(0));
    visit(
        0, 0, 0, T(1), [&](std::int64_t to, std::int64_t from, T weight) { y[to] += weight * x[from]; },
        [&](std::int64_t to, std::int64_t n) { std::fill_n(y + to, n, static_cast<T>(extrapolation_value_)); });
  }

  template <class T>
  void backward(const T* dy, T* dx) const {
    std::fill_n(dx, data_elements_, T(0));
    visit(
        0, 0, 0, T(1), [&](std::int64_t to, std::int64_t from, T weight) { dx[from] += weight * dy[to]; },
        [](std::int64_t, std::int64_t) {});
  }

 private:
  /// term(element of the result, element of the data, weight); outside(first element of the result, elements) for
  /// those that no data reach.
  template <class T, class Term, class Outside>
  void visit(std::size_t k, std::int64_t to, std::int64_t from, T weight, const Term& term,
             const Outside& outside) const {
    if (k == axes_.size()) return term(to, from, weight);
    const Axis& axis = axes_[k];
    for (const ResizeGeometry::Taps& taps : axis.taps) {
      if (taps.empty()) outside(to, axis.pitch);
      for (const auto& [index, factor] : taps) {
        visit(k + 1, to, from + index * axis.stride, weight * static_cast<T>(factor), term, outside);
      }
      to += axis.pitch;
    }
  }

  struct Axis {
    std::vector<ResizeGeometry::Taps> taps;
    std::int64_t stride, pitch;  // elements from one index to the next, in the data and in the result
  };
  std::vector<Axis> axes_;
  std::int64_t data_elements_, elements_;
  double extrapolation_value_;
};

template <class T>
NodeKernels interpolation_kernels(const KernelRequest& request, const Interpolation& interpolation) {
  const std::string &x = request.node.inputs[0], &y = request.output_names[0];
  NodeKernels kernels;
  kernels.forward.push_back(make_step(
      request, "forward", {read_value(x), write_value(y)},
      [interpolation](const Buffers& buffers) { interpolation.forward(buffers.as<const T>(0), buffers.as<T>(1)); }));
  if (!wants_gradient(request, 0)) return kernels;
  kernels.backward.push_back(make_step(
      request, "backward", {read_gradient(y), write_gradient(x)},
      [interpolation](const Buffers& buffers) { interpolation.backward(buffers.as<const T>(0), buffers.as<T>(1)); }));
  return kernels;
}

AxisMaps nearest_maps(const Shape& data, const ResizeGeometry& geometry) {
  std::vector<std::vector<std::int64_t>> maps;
  for (const auto& axis : geometry.taps) {
    std::vector<std::int64_t> map;
    for (const ResizeGeometry::Taps& taps : axis) map.push_back(taps.empty() ? AxisMaps::kNone : taps[0].index);
    maps.push_back(std::move(map));
  }
  return {data, maps};
}

}  // namespace

Result<NodeKernels> make_resize(const KernelRequest& request) {
  const Shape& data = request.inputs[0].shape;
  MG_TRY(const ResizeGeometry geometry, resize_geometry(request.node, data, request.constants));
  if (geometry.is_nearest) {
    return axis_maps_kernels(request, nearest_maps(data, geometry), geometry.extrapolation_value);
  }
  return for_type(request.outputs[0].dtype, [&](auto zero) {
    return interpolation_kernels<decltype(zero)>(request, Interpolation(data, geometry));
  });
}

}  // namespace mangrove::portable
