#include "mangrove/compress/quantization_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "mangrove/base/suggestion.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::compress {
namespace {

enum class Role {
  product,     // of an input and constant weights
  arithmetic,  // its result has a range of its own
  movement,    // its result has elements of its inputs
  activation,  // one input, elementwise: part of the node before it
  other
};

struct RoleRow {
  std::string_view op;
  Role role;
};
constexpr RoleRow kRoles[] = {
    {"Conv", Role::product},     {"Gemm", Role::product},           {"MatMul", Role::product},
    {"Add", Role::arithmetic},   {"AveragePool", Role::arithmetic}, {"GlobalAveragePool", Role::arithmetic},
    {"MaxPool", Role::movement}, {"Reshape", Role::movement},       {"Flatten", Role::movement},
    {"Squeeze", Role::movement}, {"Unsqueeze", Role::movement},     {"Transpose", Role::movement},
    {"Slice", Role::movement},   {"Split", Role::movement},         {"Concat", Role::movement},
    {"Clip", Role::activation},  {"HardSwish", Role::activation},   {"PRelu", Role::activation},
};

Role role_of_operator(const std::string& op) {
  const auto* found = std::ranges::find(kRoles, op, &RoleRow::op);
  if (found != std::end(kRoles)) return found->role;
  return find_operator(op)->activation ? Role::activation : Role::other;
}

bool is_quantization(const std::string& op) {
  return op.ends_with("QuantizeLinear") || op == "DequantizeLinear" || op.starts_with("QLinear") ||
         op.ends_with("Integer");
}

/// Whether all elements, f32, are numbers. Other types are not for this module.
bool is_finite(const Tensor& tensor) {
  if (tensor.dtype() != DType::f32) return true;
  return std::ranges::all_of(tensor.as<float>(), [](float value) { return std::isfinite(value); });
}

/// Why a product cannot compute on bytes; "" where it can.
std::string obstacle(const Graph& graph, const Node& node) {
  const auto constant = [&](std::size_t i) -> const Tensor* {
    const auto found = graph.initializers().find(node.inputs[i]);
    return found == graph.initializers().end() ? nullptr : &found->second;
  };
  if (graph.value(node.inputs[0]).dtype != DType::f32) return "its input is not f32";
  if (constant(0) != nullptr) return "its first input is constant";
  const Tensor* weights = constant(1);
  if (weights == nullptr) return "its weights are not constant";
  if (!is_finite(*weights)) return "its weights are not all finite";
  if (node.op == "MatMul" && weights->shape().rank() != 2) return "its weights are not one matrix";
  if (node.op == "Gemm" && (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1)) {
    return "its input is transposed or scaled";
  }
  if (node.inputs.size() < 3 || node.inputs[2].empty()) return "";
  const Tensor* bias = constant(2);
  if (bias != nullptr && !is_finite(*bias)) return "its bias is not all finite";
  const std::int64_t outputs = weights->shape()[node.op == "Gemm" && node.int_or("transB", 0) == 0 ? 1 : 0];
  const bool is_vector = bias != nullptr && bias->elements() == outputs && bias->shape().rank() >= 1 &&
                         bias->shape()[bias->shape().rank() - 1] == outputs;
  if (!is_vector || node.float_or("beta", 1) != 1) return "its bias is not one constant for each output";
  return "";
}

/// Whether training changes an input of the node: what a person calls a layer.
bool has_weights(const Graph& graph, const Node& node) {
  return std::ranges::any_of(find_operator(node.op)->parameters, [&](std::size_t position) {
    return position < node.inputs.size() && graph.initializers().contains(node.inputs[position]);
  });
}

class Planner {
 public:
  Planner(const Graph& graph, const QuantizeOptions& options)
      : graph_(graph), options_(options), uses_(graph.parts()), roles_(graph.nodes().size(), Role::other) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      for (const std::string& output : graph.nodes()[i].outputs) maker_[output] = i;
      for (const std::string& input : graph.nodes()[i].inputs) readers_[input].push_back(i);
    }
  }

  QuantizationPlan plan() {
    choose_products();
    choose_between();
    choose_values();
    return std::move(plan_);
  }

 private:
  /// Positions of the inputs that would be bytes.
  std::vector<std::string> data_inputs(std::size_t i) const {
    const Node& node = graph_.nodes()[i];
    const std::size_t count = node.op == "Concat" ? node.inputs.size() : node.op == "Add" ? 2 : 1;
    return {node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  bool is_byte_node(std::size_t i) const { return plan_.nodes.contains(graph_.nodes()[i].name); }

  void choose_products() {
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const Node& node = graph_.nodes()[i];
      const bool skipped = options_.skip.contains(node.name) || options_.skip.contains(node.op);
      const Role role = skipped ? Role::other : role_of_operator(node.op);
      const bool is_product = role_of_operator(node.op) == Role::product;
      std::string why = skipped ? "skipped" : is_product ? obstacle(graph_, node) : "no quantized form";
      if (is_product && why.empty()) {
        plan_.layers.push_back(node.name);
        plan_.nodes.insert(node.name);
      } else if (is_product || has_weights(graph_, node)) {
        plan_.kept.push_back({node.name, node.op, std::move(why)});
      }
      roles_[i] = is_product && !is_byte_node(i) ? Role::other : role;
    }
  }

  /// Whether all inputs of a node between products may be bytes: f32, made at run time and, in an addition, alike.
  bool fits(std::size_t i) const {
    const std::vector<std::string> inputs = data_inputs(i);
    const ValueInfo& first = graph_.value(inputs[0]);
    return std::ranges::all_of(inputs, [&](const std::string& input) {
      const ValueInfo& info = graph_.value(input);
      return info.dtype == DType::f32 && !graph_.initializers().contains(input) &&
             (graph_.nodes()[i].op != "Add" || info.shape == first.shape);
    });
  }

  /// Whether a value comes from a byte node, perhaps through activations, going by what `from` says of nodes.
  bool comes_from(const std::string& value, const std::vector<bool>& from) const {
    const auto made = maker_.find(value);
    if (made == maker_.end()) return false;
    if (roles_[made->second] != Role::activation) return from[made->second];
    return comes_from(graph_.nodes()[made->second].inputs[0], from);
  }

  bool is_read_as_bytes(const std::string& value, bool through_activations) const {
    const auto readers = readers_.find(value);
    if (readers == readers_.end()) return false;
    return std::ranges::any_of(readers->second, [&](std::size_t i) {
      if (is_byte_node(i)) return std::ranges::count(data_inputs(i), value) > 0;
      return through_activations && roles_[i] == Role::activation &&
             is_read_as_bytes(graph_.nodes()[i].outputs[0], true);
    });
  }

  /// Additions, poolings and movements join where bytes come to them and bytes are wanted after them.
  void choose_between() {
    std::vector<bool> candidate(roles_.size());
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const bool is_between = roles_[i] == Role::arithmetic || roles_[i] == Role::movement;
      candidate[i] = is_byte_node(i) ||
                     (is_between && fits(i) && std::ranges::any_of(data_inputs(i), [&](const std::string& input) {
                        return comes_from(input, candidate);
                      }));
    }
    for (std::size_t i = roles_.size(); i-- > 0;) {
      if (!candidate[i] || is_byte_node(i)) continue;
      const Node& node = graph_.nodes()[i];
      const bool wanted = std::ranges::any_of(node.outputs, [&](const std::string& output) {
        return is_read_as_bytes(output, roles_[i] == Role::arithmetic);
      });
      if (wanted) plan_.nodes.insert(node.name);
    }
  }

  bool made_for_addition(const std::string& value) const {
    const auto made = maker_.find(value);
    return made != maker_.end() && roles_[made->second] == Role::product && uses_.only_one(value);
  }

  /// The input of an addition that stays as its product leaves it; "" where there is none.
  std::string added_as_it_is(std::size_t i) const {
    if (graph_.nodes()[i].op != "Add") return "";
    std::string latest;
    for (const std::string& input : data_inputs(i)) {
      if (!made_for_addition(input)) continue;
      if (latest.empty() || maker_.at(latest) < maker_.at(input)) latest = input;
    }
    return latest;
  }

  void choose_values() {
    std::map<std::string, std::string> leader;  // of values with one scale; a forest, each tree's root leads
    const auto find = [&](std::string value) {
      while (leader.at(value) != value) value = leader.at(value);
      return value;
    };
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (!is_byte_node(i)) continue;
      const std::string as_it_is = added_as_it_is(i);
      for (const std::string& input : data_inputs(i)) {
        if (input != as_it_is) leader.emplace(input, input);
      }
    }
    const auto moved = [&](const std::string& value) {
      const auto made = maker_.find(value);
      return made != maker_.end() && roles_[made->second] == Role::movement && is_byte_node(made->second);
    };
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (!is_byte_node(i) || roles_[i] != Role::movement) continue;
      const std::vector<std::string> inputs = data_inputs(i);
      std::vector<std::string> alike = inputs;
      for (const std::string& output : graph_.nodes()[i].outputs) {
        if (leader.contains(output)) alike.push_back(output);
      }
      for (const std::string& value : alike) leader[find(value)] = find(inputs[0]);
    }
    std::map<std::string, std::size_t> numbers;  // of the leaders
    for (const auto& [value, unused] : leader) {
      const std::size_t number = numbers.emplace(find(value), numbers.size()).first->second;
      plan_.sources.resize(numbers.size());
      plan_.scale_of[value] = number;
      if (!moved(value)) plan_.sources[number].push_back(value);
    }
  }

  const Graph& graph_;
  const QuantizeOptions& options_;
  ValueUses uses_;
  std::vector<Role> roles_;  // by node
  std::map<std::string, std::size_t> maker_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  QuantizationPlan plan_;
};

Status check(const Graph& graph, const QuantizeOptions& options) {
  std::set<std::string> known;
  for (const Node& node : graph.nodes()) {
    if (is_quantization(node.op)) {
      return make_error(Code::failed_precondition, "the model is quantized already: it has " + describe(node));
    }
    known.insert({node.name, node.op});
  }
  for (const std::string& name : options.skip) {
    if (known.contains(name)) continue;
    return make_error(Code::invalid_argument, "no node or operator to skip is called '" + name + "'" +
                                                  suggestion(name, std::vector(known.begin(), known.end())));
  }
  return {};
}

}  // namespace

std::vector<std::string> QuantizationPlan::observed() const {
  std::vector<std::string> values;
  for (const auto& of_scale : sources) values.insert(values.end(), of_scale.begin(), of_scale.end());
  return values;
}

Result<QuantizationPlan> plan_quantization(const Graph& graph, const QuantizeOptions& options) {
  MG_RETURN_IF_ERROR(check(graph, options));
  QuantizationPlan plan = Planner(graph, options).plan();
  if (!plan.layers.empty()) return plan;
  std::string why = "nothing to quantize: the model has no convolution and no product with constant weights";
  if (!plan.kept.empty()) {
    const QuantizationPlan::Kept& first = plan.kept.front();
    why += "; node '" + first.node + "' (" + first.op + ") stays float: " + first.why;
  }
  return make_error(Code::failed_precondition, why);
}

}  // namespace mangrove::compress
