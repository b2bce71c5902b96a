#include "mangrove/graph/resize_geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "mangrove/graph/movement_geometry.h"

namespace mangrove {
namespace {

using Tap = ResizeGeometry::Tap;
using Taps = ResizeGeometry::Taps;

constexpr double kMostResized = 1 << 20;  // of one dimension of the result

struct Options {
  std::string transformation, mode, nearest_mode;
  double cubic_a = -0.75;
  bool exclude_outside = false;
};

/// One dimension: `length` is input times scale, which need not be whole.
struct Axis {
  std::int64_t input, output;
  double scale, length;
  double roi_start = 0, roi_end = 1;
};

Status check_one_of(const std::string& key, const std::string& value, std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* name : allowed) {
    if (value == name) return {};
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return make_error(Code::invalid_argument, "attribute " + key + " is '" + value + "', expected one of " + list);
}

Result<Options> options_of(const Node& node) {
  Options options;
  options.transformation = node.string_or("coordinate_transformation_mode", "half_pixel");
  options.mode = node.string_or("mode", "nearest");
  options.nearest_mode = node.string_or("nearest_mode", "round_prefer_floor");
  options.cubic_a = static_cast<double>(node.float_or("cubic_coeff_a", -0.75f));
  options.exclude_outside = node.int_or("exclude_outside", 0) != 0;
  MG_RETURN_IF_ERROR(check_one_of("coordinate_transformation_mode", options.transformation,
                                  {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                   "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  MG_RETURN_IF_ERROR(check_one_of("mode", options.mode, {"nearest", "linear", "cubic"}));
  MG_RETURN_IF_ERROR(
      check_one_of("nearest_mode", options.nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  return options;
}

// Where element i of the result lies in the data.
double coordinate(const Options& options, const Axis& axis, std::int64_t i) {
  const auto x = static_cast<double>(i);
  const double last = static_cast<double>(axis.input) - 1;
  const bool is_single = axis.length == 1;
  if (options.transformation == "asymmetric") return x / axis.scale;
  if (options.transformation == "align_corners") return is_single ? 0 : x * last / (axis.length - 1);
  if (options.transformation == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (options.transformation == "tf_crop_and_resize") {
    const double extent = (axis.roi_end - axis.roi_start) * last;
    return axis.roi_start * last + (is_single ? extent / 2 : x * extent / (axis.length - 1));
  }
  if (options.transformation == "pytorch_half_pixel" && is_single) return -0.5;
  return (x + 0.5) / axis.scale - 0.5;
}

std::int64_t nearest_index(const std::string& mode, double x) {
  const double below = std::floor(x), fraction = x - below;
  const bool up = fraction > 0 && (mode == "ceil" || (mode == "round_prefer_floor" && fraction > 0.5) ||
                                   (mode == "round_prefer_ceil" && fraction >= 0.5));
  return static_cast<std::int64_t>(below) + (up ? 1 : 0);
}

// Weights of the elements at floor(x) - 1 ... floor(x) + 2.
// source: Keys, Cubic convolution interpolation for digital image processing, 1981.
std::array<double, 4> cubic_weights(double fraction, double a) {
  const auto near = [a](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };       // |t| <= 1
  const auto far = [a](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };  // 1 < |t| < 2
  return {far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)};
}

// Elements before the first and after the last repeat these, or (exclude_outside) have no weight.
Taps weighted(const Options& options, const Axis& axis, double x) {
  const double below = std::floor(x), fraction = x - below;
  const auto first = static_cast<std::int64_t>(below);
  Taps taps;
  if (options.mode == "cubic") {
    const std::array<double, 4> weights = cubic_weights(fraction, options.cubic_a);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      taps.push_back({first - 1 + static_cast<std::int64_t>(k), weights[k]});
    }
  } else {
    taps = {{first, 1 - fraction}, {first + 1, fraction}};
  }
  const auto is_outside = [&](const Tap& tap) { return tap.index < 0 || tap.index >= axis.input; };
  if (options.exclude_outside) {
    std::erase_if(taps, is_outside);
    double sum = 0;
    for (const Tap& tap : taps) sum += tap.weight;
    for (Tap& tap : taps) tap.weight /= sum;
  }
  for (Tap& tap : taps) tap.index = std::clamp<std::int64_t>(tap.index, 0, axis.input - 1);
  std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0; });
  return taps;
}

std::vector<Taps> taps_of(const Options& options, const Axis& axis) {
  std::vector<Taps> taps;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const double x = coordinate(options, axis, i);
    const bool is_cropped =
        options.transformation == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<double>(axis.input) - 1);
    if (is_cropped) {
      taps.emplace_back();
    } else if (options.mode == "nearest") {
      const std::int64_t index = nearest_index(options.nearest_mode, x);
      taps.push_back({{std::clamp<std::int64_t>(index, 0, axis.input - 1), 1.0}});
    } else {
      taps.push_back(weighted(options, axis, x));
    }
  }
  return taps;
}

Result<std::vector<double>> constant_reals(const Tensor* constant, const std::string& what, std::size_t count) {
  if (constant == nullptr) return make_error(Code::unimplemented, what + " must be a constant");
  if ((constant->dtype() != DType::f32 && constant->dtype() != DType::f64) ||
      constant->elements() != static_cast<std::int64_t>(count)) {
    return make_error(Code::invalid_argument, what + " is " + dtype_name(constant->dtype()) + " " +
                                                  to_string(constant->shape()) + ", expected " + std::to_string(count) +
                                                  " reals");
  }
  if (constant->dtype() == DType::f64) {
    const auto values = constant->as<double>();
    return std::vector<double>(values.begin(), values.end());
  }
  const auto values = constant->as<float>();
  return std::vector<double>(values.begin(), values.end());
}

Error misfit(const Shape& input, std::size_t axis, const std::string& found) {
  return make_error(Code::invalid_argument, "dimension " + std::to_string(axis) + " of input " + to_string(input) +
                                                " cannot be resized by " + found);
}

Result<std::vector<Axis>> scaled_axes(const Shape& input, const Tensor* constant) {
  MG_TRY(const std::vector<double> scales, constant_reals(constant, "scales (input 2)", input.rank()));
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (input[i] < 0 && scales[i] == 1) {
      axes.push_back({input[i], input[i], 1, 1});
      continue;
    }
    const double length = scales[i] * static_cast<double>(input[i]);
    if (!(length >= 1 && length <= kMostResized) || input[i] < 0) {
      return misfit(input, i, "scale " + std::to_string(scales[i]));
    }
    axes.push_back({input[i], static_cast<std::int64_t>(std::floor(length)), scales[i], length});
  }
  return axes;
}

Result<std::vector<Axis>> sized_axes(const Shape& input, const Tensor* constant) {
  MG_TRY(const std::vector<std::int64_t> sizes, constant_integers(constant, "sizes (input 3)"));
  if (sizes.size() != input.rank()) {
    return make_error(Code::invalid_argument, "sizes (input 3) has " + std::to_string(sizes.size()) +
                                                  " elements, input has shape " + to_string(input));
  }
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (sizes[i] < 0) {  // as long as it was; the batch or a multiple of it, symbolic or bound by now
      if (input.is_symbolic() && sizes[i] != input[i]) return misfit(input, i, "a size with another batch");
      axes.push_back({input[i], input[i], 1, static_cast<double>(input[i])});
      continue;
    }
    if (sizes[i] < 1 || static_cast<double>(sizes[i]) > kMostResized || input[i] < 1) {
      return misfit(input, i, "size " + std::to_string(sizes[i]));
    }
    const auto size = static_cast<double>(sizes[i]);
    axes.push_back({input[i], sizes[i], size / static_cast<double>(input[i]), size});
  }
  return axes;
}

}  // namespace

Result<ResizeGeometry> resize_geometry(const Node& node, const Shape& input, std::span<const Tensor* const> constants) {
  MG_TRY(const Options options, options_of(node));
  if (has_input(node, 2) == has_input(node, 3)) {
    return make_error(Code::invalid_argument, "expected either scales (input 2) or sizes (input 3)");
  }
  MG_TRY(std::vector<Axis> axes, has_input(node, 2) ? scaled_axes(input, constant_at(constants, 2))
                                                    : sized_axes(input, constant_at(constants, 3)));
  if (options.transformation == "tf_crop_and_resize") {
    MG_TRY(const std::vector<double> roi, constant_reals(constant_at(constants, 1), "roi (input 1)", 2 * input.rank()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes[i].roi_start = roi[i];
      axes[i].roi_end = roi[axes.size() + i];
    }
  }
  ResizeGeometry geometry;
  geometry.extrapolation_value = static_cast<double>(node.float_or("extrapolation_value", 0));
  geometry.is_nearest = options.mode == "nearest";
  geometry.output = input;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    geometry.output[i] = axes[i].output;
    geometry.taps.push_back(axes[i].output < 0 ? std::vector<Taps>() : taps_of(options, axes[i]));
  }
  return geometry;
}

}  // namespace mangrove
