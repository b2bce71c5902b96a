#include "mangrove/graph/reduction_geometry.h"

#include <vector>

#include "mangrove/graph/axis.h"
#include "mangrove/graph/movement_geometry.h"

namespace mangrove {
namespace {

std::vector<std::int64_t> given_axes(const Node& node, const Tensor* axes) {
  if (axes == nullptr) return node.ints_or("axes", {});
  const auto values = axes->as<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace

Result<ReductionGeometry> reduction_geometry(const Node& node, const Shape& input, const Tensor* axes) {
  const std::vector<std::int64_t> given = given_axes(node, axes);
  const bool all = given.empty() && node.int_or("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(input.rank(), all);
  for (const std::int64_t one : given) {
    MG_TRY(const std::size_t axis, resolve_axis(one, input));
    if (reduced[axis]) {
      return make_error(Code::invalid_argument,
                        "axis " + std::to_string(one) + " of shape " + to_string(input) + " is given twice");
    }
    reduced[axis] = true;
  }
  const bool keep = node.int_or("keepdims", 1) != 0;
  std::vector<std::int64_t> kept, output;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    kept.push_back(reduced[i] ? 1 : input[i]);
    if (keep || !reduced[i]) output.push_back(kept.back());
  }
  return ReductionGeometry{Shape(std::move(kept)), Shape(std::move(output))};
}

Result<std::size_t> cumulative_axis(const Tensor* axis, const Shape& input) {
  MG_TRY(const std::vector<std::int64_t> given, constant_integers(axis, "axis (input 1)"));
  return resolve_axis(given.at(0), input);
}

}  // namespace mangrove
