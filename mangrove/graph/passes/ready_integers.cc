// What products of integers (ConvInteger, MatMulInteger) read is made ready for kernels that multiply unsigned by
// signed bytes and compute on the sums at once: constant weights become i8, if they can without a zero point, and the
// product of scales that the sums are multiplied by is computed before the sums.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/passes/passes.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::passes_detail {
namespace {

constexpr std::size_t kWeights = 1, kWeightZero = 3;

bool is_integer_product(const Node& node) {
  return node.op == "ConvInteger" || node.op == "MatMulInteger";
}

std::vector<std::int32_t> bytes_of(const Tensor& tensor) {
  std::vector<std::int32_t> values;
  const auto append = [&](const auto& elements) { values.assign(elements.begin(), elements.end()); };
  tensor.dtype() == DType::u8 ? append(tensor.as<std::uint8_t>()) : append(tensor.as<std::int8_t>());
  return values;
}

/// The values less `shift`, all of which i8 holds.
Tensor as_signed(const Tensor& tensor, std::int32_t shift) {
  Tensor result(DType::i8, tensor.shape());
  std::ranges::transform(bytes_of(tensor), result.as<std::int8_t>().begin(),
                         [=](std::int32_t value) { return static_cast<std::int8_t>(value - shift); });
  return result;
}

bool fit_signed(const Tensor& tensor, std::int32_t shift) {
  using Limits = std::numeric_limits<std::int8_t>;
  const std::vector<std::int32_t> values = bytes_of(tensor);
  const auto [low, high] = std::ranges::minmax(values);
  return low - shift >= Limits::min() && high - shift <= Limits::max();
}

/// Weights and zero points of one node; `zeros` null: all are 0.
struct KnownWeights {
  const Tensor* weights;
  const Tensor* zeros;
};

std::optional<KnownWeights> known_weights(const GraphParts& parts, const Node& node) {
  const auto constant = [&](std::size_t i) -> const Tensor* {
    const auto found = parts.initializers.find(node.inputs[i]);
    return found == parts.initializers.end() ? nullptr : &found->second;
  };
  const Tensor* weights = constant(kWeights);
  if (weights == nullptr || weights->elements() == 0) return std::nullopt;
  if (node.inputs.size() <= kWeightZero || node.inputs[kWeightZero].empty()) return KnownWeights{weights, nullptr};
  const Tensor* zeros = constant(kWeightZero);
  if (zeros == nullptr || zeros->elements() == 0) return std::nullopt;
  return KnownWeights{weights, zeros};
}

/// Makes the weights of a node i8, and leaves their zero point out where it can be taken off them. Whether it changed
/// anything.
bool sign_weights(Node& node, GraphParts& parts, ValueUses& uses) {
  const auto known = known_weights(parts, node);
  if (!known) return false;
  constexpr std::int32_t kFlip = 128;
  const std::int32_t zero = known->zeros == nullptr ? 0 : bytes_of(*known->zeros)[0];
  const bool folds = (known->zeros == nullptr || known->zeros->elements() == 1) && fit_signed(*known->weights, zero);
  if (known->weights->dtype() == DType::i8 && (!folds || known->zeros == nullptr)) return false;
  Tensor weights = as_signed(*known->weights, folds ? zero : kFlip);
  Tensor zeros;
  if (!folds) {
    const Tensor unsigned_zero = Tensor::of<std::uint8_t>({}, {0});
    zeros = as_signed(known->zeros == nullptr ? unsigned_zero : *known->zeros, kFlip);
  }
  const auto set = [&](std::size_t input, Tensor value) {
    const std::string name = uses.unused_name(node.inputs[input] + ".signed");
    parts.initializers.emplace(name, std::move(value));
    node.inputs[input] = name;
  };
  if (folds && node.inputs.size() > kWeightZero) node.inputs.resize(kWeightZero);
  if (!folds) node.inputs.resize(kWeightZero + 1);
  if (!folds && node.inputs[kWeightZero].empty()) node.inputs[kWeightZero] = node.inputs[kWeights] + ".zero";
  set(kWeights, std::move(weights));
  if (!folds) set(kWeightZero, std::move(zeros));
  return true;
}

bool is_one_number(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t size) { return size == 1; });
}

/// Whether a node multiplies one computed number by one number or by constants: a scale.
bool makes_scales(const Graph& graph, const Node& node) {
  return node.op == "Mul" && graph.value(node.outputs[0]).dtype == DType::f32 &&
         std::ranges::all_of(node.inputs, [&](const std::string& input) {
           return graph.initializers().contains(input) || is_one_number(graph.value(input).shape);
         });
}

/// Moves scales up to behind what they are made from. Appends a note for each.
void move_scales_up(const Graph& graph, Rewrite& rewrite) {
  std::vector<Node> nodes;
  for (Node& node : rewrite.parts.nodes) {
    auto place = nodes.end();
    if (makes_scales(graph, node)) {
      const auto feeds = [&](const Node& other) {
        return std::ranges::any_of(other.outputs, [&](const std::string& output) {
          return !output.empty() && std::ranges::find(node.inputs, output) != node.inputs.end();
        });
      };
      place = std::find_if(nodes.rbegin(), nodes.rend(), feeds).base();
      while (place != nodes.end() && makes_scales(graph, *place)) ++place;
    }
    if (place != nodes.end()) rewrite.notes.push_back(describe(node) + " is computed as soon as its inputs are");
    nodes.insert(place, std::move(node));
  }
  rewrite.parts.nodes = std::move(nodes);
}

}  // namespace

Result<Rewrite> ready_integers(const Graph& graph, const PassContext&) {
  Rewrite rewrite{graph.parts(), {}};
  if (std::ranges::none_of(graph.nodes(), is_integer_product)) return rewrite;
  ValueUses uses(graph.parts());
  for (Node& node : rewrite.parts.nodes) {
    if (is_integer_product(node) && sign_weights(node, rewrite.parts, uses)) {
      rewrite.notes.push_back(describe(node) + " reads signed weights");
    }
  }
  move_scales_up(graph, rewrite);
  return rewrite;
}

}  // namespace mangrove::passes_detail
