// What products of integers (ConvInteger, MatMulInteger) read is made ready for kernels that multiply unsigned by
// signed bytes and compute on the sums at once: constant weights become i8, if they can without a zero point, and the
// product of scales that the sums are multiplied by is computed before the sums.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/passes/passes.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::passes_detail {
namespace {

constexpr std::size_t kWeights = 1, kWeightZero = 3;

bool is_integer_product(const Node& node) {
  return node.op == "ConvInteger" || node.op == "MatMulInteger";
}

/// visit(span of the elements), which are bytes.
template <class Visit>
auto with_bytes(const Tensor& tensor, const Visit& visit) {
  return tensor.dtype() == DType::u8 ? visit(tensor.as<std::uint8_t>()) : visit(tensor.as<std::int8_t>());
}

std::int32_t first_byte(const Tensor& tensor) {
  return with_bytes(tensor, [](const auto& bytes) { return std::int32_t{bytes[0]}; });
}

/// The values less `shift`, all of which i8 holds.
Tensor as_signed(const Tensor& tensor, std::int32_t shift) {
  Tensor result(DType::i8, tensor.shape());
  with_bytes(tensor, [&](const auto& bytes) {
    std::ranges::transform(bytes, result.as<std::int8_t>().begin(),
                           [=](std::int32_t value) { return static_cast<std::int8_t>(value - shift); });
  });
  return result;
}

bool fit_signed(const Tensor& tensor, std::int32_t shift) {
  using Limits = std::numeric_limits<std::int8_t>;
  return with_bytes(tensor, [=](const auto& bytes) {
    const auto [low, high] = std::ranges::minmax(bytes);
    return low - shift >= Limits::min() && high - shift <= Limits::max();
  });
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

/// The names of weights made i8 and of their zero point, "" where there is none. Without weights: they stay as they
/// are.
struct SignedNames {
  std::string weights, zeros;
};

/// Makes weights i8, once for all nodes that read the same weights with the same zero point.
class WeightSigner {
 public:
  WeightSigner(GraphParts& parts, Bytes& may_add) : parts_(parts), uses_(parts), may_add_(may_add) {}

  /// Makes the weights of a node i8, and leaves their zero point out where it can be taken off them. Whether it changed
  /// anything.
  bool sign(Node& node) {
    const auto known = known_weights(parts_, node);
    if (!known) return false;
    const std::string zeros = known->zeros == nullptr ? "" : node.inputs[kWeightZero];
    const auto [found, is_new] = signed_.try_emplace({node.inputs[kWeights], zeros});
    if (is_new) found->second = make(found->first.first, *known);
    const SignedNames& names = found->second;
    if (names.weights.empty()) return false;
    node.inputs.resize(names.zeros.empty() ? kWeightZero : kWeightZero + 1);
    node.inputs[kWeights] = names.weights;
    if (!names.zeros.empty()) node.inputs[kWeightZero] = names.zeros;
    return true;
  }

 private:
  SignedNames make(const std::string& weights, const KnownWeights& known) {
    constexpr std::int32_t kFlip = 128;
    const bool is_signed = known.weights->dtype() == DType::i8;
    if (is_signed && known.zeros == nullptr) return {};
    const std::int32_t zero = known.zeros == nullptr ? 0 : first_byte(*known.zeros);
    const bool folds = (known.zeros == nullptr || known.zeros->elements() == 1) && fit_signed(*known.weights, zero);
    if ((is_signed && !folds) || !may_copy(weights, known.weights->bytes())) return {};
    SignedNames names{.weights = add(weights, as_signed(*known.weights, folds ? zero : kFlip)), .zeros = ""};
    if (folds) return names;
    const Tensor unsigned_zero = Tensor::of<std::uint8_t>({}, {0});
    names.zeros = add(weights + ".zero", as_signed(known.zeros == nullptr ? unsigned_zero : *known.zeros, kFlip));
    return names;
  }

  /// The first copy takes the place of the weights. Others, for other zero points, make the graph larger.
  bool may_copy(const std::string& weights, Bytes bytes) {
    if (copied_.insert(weights).second) return true;
    if (bytes > may_add_) return false;
    may_add_ -= bytes;
    return true;
  }

  std::string add(const std::string& stem, Tensor value) {
    std::string name = uses_.unused_name(stem + ".signed");
    parts_.initializers.emplace(name, std::move(value));
    return name;
  }

  GraphParts& parts_;
  ValueUses uses_;
  Bytes& may_add_;
  std::map<std::pair<std::string, std::string>, SignedNames> signed_;  // by the names of weights and zero point
  std::set<std::string> copied_;
};

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

constexpr std::int64_t kNowhere = -1;  // in place of the index of a node: before all of them

/// Which node makes a value.
class ValueMakers {
 public:
  explicit ValueMakers(const std::vector<Node>& nodes) : nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].outputs) index_.emplace(output, static_cast<std::int64_t>(i));
    }
  }
  /// kNowhere for what is given.
  std::int64_t index(const std::string& value) const {
    const auto found = index_.find(value);
    return found == index_.end() ? kNowhere : found->second;
  }
  /// Null for what is given.
  const Node* node(const std::string& value) const {
    const std::int64_t i = index(value);
    return i == kNowhere ? nullptr : &nodes_[static_cast<std::size_t>(i)];
  }

 private:
  const std::vector<Node>& nodes_;
  std::map<std::string, std::int64_t> index_;
};

/// For each node, whether it makes the scale that the sums of an integer product are multiplied by, and nothing else
/// reads it.
std::vector<bool> find_scales(const Graph& graph, const std::vector<Node>& nodes, const ValueMakers& makers) {
  const ValueUses uses(graph.parts());
  const auto are_sums = [&](const std::string& value) {
    const Node* cast = makers.node(value);
    if (cast == nullptr || cast->op != "Cast") return false;
    const Node* product = makers.node(cast->inputs[0]);
    return product != nullptr && is_integer_product(*product);
  };
  std::vector<bool> is_scale(nodes.size(), false);
  for (const Node& node : nodes) {
    if (node.op != "Mul") continue;
    for (const std::size_t other : {0, 1}) {
      const std::string& scale = node.inputs[other];
      const std::int64_t maker = makers.index(scale);
      if (maker == kNowhere || !are_sums(node.inputs[1 - other]) || !uses.only_one(scale)) continue;
      const auto i = static_cast<std::size_t>(maker);
      is_scale[i] = makes_scales(graph, nodes[i]);
    }
  }
  return is_scale;
}

/// Where nodes go that move up: behind[i + 1] lists those that follow node i, behind[0] those that come first.
struct NewOrder {
  std::vector<std::vector<std::size_t>> behind;
  std::vector<std::size_t> moved;  // those of them that other nodes than such were in front of
};

/// Puts scales behind what they are made from.
NewOrder order_of(const std::vector<Node>& nodes, const ValueMakers& makers, const std::vector<bool>& is_scale) {
  NewOrder order{.behind = std::vector<std::vector<std::size_t>>(nodes.size() + 1), .moved = {}};
  std::vector<std::int64_t> place(nodes.size());  // the last node that stays and must come before
  std::int64_t last = kNowhere;                   // that stays
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_scale[i]) {
      last = place[i] = static_cast<std::int64_t>(i);
      continue;
    }
    place[i] = kNowhere;
    for (const std::string& input : nodes[i].inputs) {
      const std::int64_t maker = makers.index(input);
      if (maker != kNowhere) place[i] = std::max(place[i], place[static_cast<std::size_t>(maker)]);
    }
    order.behind[static_cast<std::size_t>(place[i] + 1)].push_back(i);
    if (place[i] != last) order.moved.push_back(i);
  }
  return order;
}

/// Moves scales up to behind what they are made from. Appends a note for each.
void move_scales_up(const Graph& graph, Rewrite& rewrite) {
  std::vector<Node>& nodes = rewrite.parts.nodes;
  const ValueMakers makers(nodes);
  const std::vector<bool> is_scale = find_scales(graph, nodes, makers);
  const NewOrder order = order_of(nodes, makers, is_scale);
  for (const std::size_t i : order.moved) {
    rewrite.notes.push_back(describe(nodes[i]) + " is computed as soon as its inputs are");
  }
  std::vector<Node> ordered;
  const auto append_behind = [&](std::size_t place) {
    for (const std::size_t i : order.behind[place]) ordered.push_back(std::move(nodes[i]));
  };
  append_behind(0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_scale[i]) ordered.push_back(std::move(nodes[i]));
    append_behind(i + 1);
  }
  nodes = std::move(ordered);
}

}  // namespace

Result<Rewrite> ready_integers(const Graph& graph, const PassContext& context) {
  Rewrite rewrite{graph.parts(), {}};
  if (std::ranges::none_of(graph.nodes(), is_integer_product)) return rewrite;
  WeightSigner signer(rewrite.parts, *context.may_add);
  for (Node& node : rewrite.parts.nodes) {
    if (is_integer_product(node) && signer.sign(node)) {
      rewrite.notes.push_back(describe(node) + " reads signed weights");
    }
  }
  move_scales_up(graph, rewrite);
  return rewrite;
}

}  // namespace mangrove::passes_detail
