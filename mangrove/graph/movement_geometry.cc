#include "mangrove/graph/movement_geometry.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "mangrove/graph/axis.h"

namespace mangrove {
namespace {

// A pad or dimension beyond it would only overflow.
constexpr std::int64_t kMostMoved = std::int64_t{1} << 40;
constexpr std::int64_t kMostTiled = std::int64_t{1} << 24;  // places of all repeated dimensions: a kernel has a list

// What exporters write for the end of a dimension of unknown size: the largest i32 or i64.
constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int32_t>::max();

template <class T>
std::vector<std::int64_t> widened(const Tensor& tensor) {
  const auto elements = tensor.as<T>();
  return {elements.begin(), elements.end()};
}

Error cuts_batch(const Shape& data) {
  return make_error(Code::unimplemented, "the batch of input " + to_string(data) + " would be cut or padded");
}

}  // namespace

const Tensor* constant_at(Constants constants, std::size_t position) {
  return position < constants.size() ? constants[position] : nullptr;
}

bool has_input(const Node& node, std::size_t position) {
  return position < node.inputs.size() && !node.inputs[position].empty();
}

Result<std::vector<std::int64_t>> constant_integers(const Tensor* constant, const std::string& what) {
  if (constant == nullptr) return make_error(Code::unimplemented, what + " must be a constant");
  if (constant->dtype() == DType::i64) return widened<std::int64_t>(*constant);
  if (constant->dtype() == DType::i32) return widened<std::int32_t>(*constant);
  return make_error(Code::invalid_argument,
                    what + " has type " + dtype_name(constant->dtype()) + ", expected i64 or i32");
}

Result<std::vector<std::size_t>> permutation_of(const Node& node, const Shape& data) {
  std::vector<std::size_t> permutation(data.rank());
  std::iota(permutation.rbegin(), permutation.rend(), std::size_t{0});  // left out: all dimensions in reverse
  if (!node.attributes.contains("perm")) return permutation;
  const std::vector<std::int64_t> given = node.ints_or("perm", {});
  std::vector<bool> seen(data.rank(), false);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool is_new = given.size() == data.rank() && given[i] >= 0 &&
                        given[i] < static_cast<std::int64_t>(data.rank()) && !seen[static_cast<std::size_t>(given[i])];
    if (!is_new) break;
    permutation[i] = static_cast<std::size_t>(given[i]);
    seen[permutation[i]] = true;
  }
  if (given.size() != data.rank() || std::count(seen.begin(), seen.end(), true) != std::ssize(seen)) {
    return make_error(Code::invalid_argument, "attribute perm is " + to_string(Shape(given)) +
                                                  ", which is no permutation of the dimensions of input " +
                                                  to_string(data));
  }
  return permutation;
}

Result<std::vector<std::int64_t>> split_sizes(const Node& node, const Shape& data, std::size_t axis,
                                              Constants constants) {
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  if (data[axis] < 0) return cuts_batch(data);
  if (!has_input(node, 1)) {
    if (data[axis] % parts != 0) {
      return make_error(Code::invalid_argument, "input " + to_string(data) + " does not split into " +
                                                    std::to_string(parts) + " equal parts along dimension " +
                                                    std::to_string(axis));
    }
    return std::vector<std::int64_t>(static_cast<std::size_t>(parts), data[axis] / parts);
  }
  MG_TRY(std::vector<std::int64_t> sizes, constant_integers(constant_at(constants, 1), "split (input 1)"));
  std::int64_t left = data[axis];
  for (const std::int64_t size : sizes) left = size < 0 || left < size ? -1 : left - size;
  if (left != 0 || std::ssize(sizes) != parts) {
    return make_error(Code::invalid_argument, "split (input 1) is " + to_string(Shape(sizes)) + " for " +
                                                  std::to_string(parts) + " outputs and " + std::to_string(data[axis]) +
                                                  " elements along dimension " + std::to_string(axis) + " of input " +
                                                  to_string(data));
  }
  return sizes;
}

namespace {

// numpy's data[start:end:step] along a dimension of this size.
AxisSlice slice_axis(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  step = std::clamp(step, -std::max<std::int64_t>(size, 1), std::max<std::int64_t>(size, 1));
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp(start, std::int64_t{0}, std::max<std::int64_t>(highest, 0));
  end = std::clamp(end, lowest, std::max(highest, lowest));
  const std::int64_t distance = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : -step;
  return {start, step, size == 0 || distance <= 0 ? 0 : (distance - 1) / stride + 1};
}

struct SliceInputs {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

Result<SliceInputs> slice_inputs(const Node& node, const Shape& data, Constants constants) {
  SliceInputs given;
  MG_TRY(given.starts, constant_integers(constant_at(constants, 1), "starts (input 1)"));
  MG_TRY(given.ends, constant_integers(constant_at(constants, 2), "ends (input 2)"));
  given.axes.resize(given.starts.size());
  std::iota(given.axes.begin(), given.axes.end(), 0);
  given.steps.assign(given.starts.size(), 1);
  if (has_input(node, 3)) {
    MG_TRY(given.axes, constant_integers(constant_at(constants, 3), "axes (input 3)"));
  }
  if (has_input(node, 4)) {
    MG_TRY(given.steps, constant_integers(constant_at(constants, 4), "steps (input 4)"));
  }
  for (const auto* list : {&given.ends, &given.axes, &given.steps}) {
    if (list->size() != given.starts.size()) {
      return make_error(Code::invalid_argument, "starts, ends, axes and steps have different lengths (" +
                                                    std::to_string(given.starts.size()) + " and " +
                                                    std::to_string(list->size()) + ") for input " + to_string(data));
    }
  }
  return given;
}

}  // namespace

Result<std::vector<AxisSlice>> slice_geometry(const Node& node, const Shape& data, Constants constants) {
  MG_TRY(const SliceInputs given, slice_inputs(node, data, constants));
  std::vector<AxisSlice> slices;
  for (const std::int64_t dim : data) slices.push_back({0, 1, dim});
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < given.starts.size(); ++i) {
    MG_TRY(const std::size_t axis, resolve_axis(given.axes[i], data));
    if (!seen.insert(axis).second || given.steps[i] == 0) {
      return make_error(Code::invalid_argument, "axis " + std::to_string(axis) + " of input " + to_string(data) +
                                                    " is sliced twice, or with step 0");
    }
    if (data[axis] >= 0) {
      slices[axis] = slice_axis(data[axis], given.starts[i], given.ends[i], given.steps[i]);
    } else if (given.starts[i] != 0 || given.ends[i] < kToTheEnd || given.steps[i] != 1) {
      return cuts_batch(data);
    }
  }
  return slices;
}

namespace {

Result<PadGeometry::Mode> pad_mode(const Node& node) {
  const std::string mode = node.string_or("mode", "constant");
  if (mode == "constant") return PadGeometry::Mode::constant;
  if (mode == "edge") return PadGeometry::Mode::edge;
  if (mode == "reflect") return PadGeometry::Mode::reflect;
  return make_error(Code::invalid_argument, "attribute mode is '" + mode + "', expected constant, edge or reflect");
}

// What a dimension becomes; -1 where that cannot be.
std::int64_t padded(std::int64_t size, std::int64_t before, std::int64_t after, PadGeometry::Mode mode) {
  if (std::max(std::abs(before), std::abs(after)) > kMostMoved) return -1;
  const std::int64_t most = mode == PadGeometry::Mode::reflect ? size - 1 : kMostMoved;
  if (mode != PadGeometry::Mode::constant && std::max({before, after, std::int64_t{0}}) > (size == 0 ? 0 : most))
    return -1;
  return size + before + after;
}

Result<double> pad_value(const Node& node, Constants constants) {
  if (!has_input(node, 2)) return 0.0;
  const Tensor* value = constant_at(constants, 2);
  if (value == nullptr) return make_error(Code::unimplemented, "constant_value (input 2) must be a constant");
  if (value->elements() != 1) {
    return make_error(Code::invalid_argument,
                      "constant_value (input 2) has shape " + to_string(value->shape()) + ", expected one element");
  }
  switch (value->dtype()) {
    case DType::f32:
      return static_cast<double>(value->as<float>()[0]);
    case DType::f64:
      return value->as<double>()[0];
    case DType::i32:
      return static_cast<double>(value->as<std::int32_t>()[0]);
    case DType::i64:
      return static_cast<double>(value->as<std::int64_t>()[0]);
    case DType::u8:
      return static_cast<double>(value->as<std::uint8_t>()[0]);
    case DType::i8:
      return static_cast<double>(value->as<std::int8_t>()[0]);
    case DType::boolean:
      return value->as<bool>()[0] ? 1.0 : 0.0;
  }
  return 0.0;
}

}  // namespace

Result<PadGeometry> pad_geometry(const Node& node, const Shape& data, Constants constants) {
  PadGeometry geometry;
  MG_TRY(geometry.mode, pad_mode(node));
  MG_TRY(geometry.value, pad_value(node, constants));
  MG_TRY(const std::vector<std::int64_t> pads, constant_integers(constant_at(constants, 1), "pads (input 1)"));
  if (pads.size() != 2 * data.rank()) {
    return make_error(Code::invalid_argument, "pads (input 1) has " + std::to_string(pads.size()) +
                                                  " elements, expected " + std::to_string(2 * data.rank()) +
                                                  " for input " + to_string(data));
  }
  geometry.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(data.rank()));
  geometry.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(data.rank()), pads.end());
  geometry.output = data;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    const std::int64_t before = geometry.before[i], after = geometry.after[i];
    if (before == 0 && after == 0) continue;
    if (data[i] < 0) return cuts_batch(data);
    geometry.output[i] = padded(data[i], before, after, geometry.mode);
    if (geometry.output[i] < 0) {
      return make_error(Code::invalid_argument, "dimension " + std::to_string(i) + " of input " + to_string(data) +
                                                    " cannot be padded by " + std::to_string(before) + " and " +
                                                    std::to_string(after) + " (mode " +
                                                    node.string_or("mode", "constant") + ")");
    }
  }
  return geometry;
}

Result<std::vector<std::int64_t>> tile_repeats(const Shape& data, Constants constants) {
  MG_TRY(std::vector<std::int64_t> repeats, constant_integers(constant_at(constants, 1), "repeats (input 1)"));
  if (repeats.size() != data.rank()) {
    return make_error(Code::invalid_argument, "repeats (input 1) has " + std::to_string(repeats.size()) +
                                                  " elements, expected " + std::to_string(data.rank()) + " for input " +
                                                  to_string(data));
  }
  std::int64_t left = kMostTiled;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (repeats[i] == 1) continue;
    if (data[i] < 0) return cuts_batch(data);
    const std::int64_t size = std::max<std::int64_t>(data[i], 1);
    if (repeats[i] < 0 || repeats[i] > left / size) {
      return make_error(Code::invalid_argument, "dimension " + std::to_string(i) + " of input " + to_string(data) +
                                                    " cannot be repeated " + std::to_string(repeats[i]) +
                                                    " times: repeated dimensions have at most " +
                                                    std::to_string(kMostTiled) + " places together");
    }
    left -= repeats[i] * size;
  }
  return repeats;
}

Result<Triangle> triangle_of(const Node& node, const Shape& data, Constants constants) {
  if (data.rank() < 2) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(data) + ", expected [..., H, W]");
  }
  if (data[data.rank() - 2] < 0 || data[data.rank() - 1] < 0) return cuts_batch(data);
  Triangle triangle{.upper = node.int_or("upper", 1) != 0};
  if (!has_input(node, 1)) return triangle;
  MG_TRY(const std::vector<std::int64_t> k, constant_integers(constant_at(constants, 1), "k (input 1)"));
  if (k.size() != 1) {
    return make_error(Code::invalid_argument,
                      "k (input 1) has " + std::to_string(k.size()) + " elements, expected one");
  }
  triangle.diagonal = k[0];
  return triangle;
}

Result<BlockGeometry> block_geometry(const Node& node, const Shape& data) {
  const std::int64_t block = node.int_or("blocksize", 0);
  const bool to_space = node.op == "DepthToSpace";
  const std::string mode = node.string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    return make_error(Code::invalid_argument, "attribute mode is '" + mode + "', expected DCR or CRD");
  }
  if (data.rank() != 4 || !data.allows_batch_first()) {
    return make_error(Code::invalid_argument, "input has shape " + to_string(data) + ", expected [N, C, H, W]");
  }
  const std::int64_t n = data[0], c = data[1], h = data[2], w = data[3];
  const bool fits =
      block > 0 && block <= kMostMoved &&
      (to_space ? block <= c && c % block == 0 && (c / block) % block == 0 : h % block == 0 && w % block == 0);
  if (!fits) {
    return make_error(Code::invalid_argument,
                      "attribute blocksize is " + std::to_string(block) + ", input has shape " + to_string(data));
  }
  if (!to_space) {
    return BlockGeometry{{n, c, h / block, block, w / block, block},
                         {0, 3, 5, 1, 2, 4},
                         Shape{n, c * block * block, h / block, w / block}};
  }
  const std::int64_t depth = c / block / block;
  const Shape output{n, depth, h * block, w * block};
  if (mode == "DCR") return BlockGeometry{{n, block, block, depth, h, w}, {0, 3, 4, 1, 5, 2}, output};
  return BlockGeometry{{n, depth, block, block, h, w}, {0, 1, 4, 2, 5, 3}, output};
}

}  // namespace mangrove
