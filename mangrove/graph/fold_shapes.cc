#include "mangrove/graph/fold_shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/graph/batch_in_shapes.h"
#include "mangrove/graph/element_type.h"
#include "mangrove/graph/node_check.h"
#include "mangrove/graph/node_inference.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/shape_values.h"
#include "mangrove/graph/topological_sort.h"

namespace mangrove {
namespace {

// All computed values together have no more elements: a file cannot make loading take much memory.
constexpr std::int64_t kMostElementsInAll = std::int64_t{1} << 22;

class ShapeFolder {
 public:
  ShapeFolder(GraphParts parts, const FoldOptions& options) : options_(options), parts_(std::move(parts)) {
    outputs_.insert(parts_.outputs.begin(), parts_.outputs.end());
    for (const auto& [name, tensor] : parts_.initializers) {
      const bool number = !is_floating(tensor.dtype()) || tensor.elements() == 1 || options_.constants.contains(name);
      if (number && tensor.elements() <= kMostShapeElements) numbers_.insert(name);
    }
    for (const auto& [name, info] : parts_.inputs) depends_on_[name] = "the data of '" + name + "'";
  }

  Result<GraphParts> run() {
    MG_TRY(values_, given_values(parts_));
    MG_RETURN_IF_ERROR(check_names(parts_, values_));
    MG_TRY(parts_.nodes, topological_sort(std::move(parts_.nodes)));
    for (Node& node : parts_.nodes) {
      if (is_alias(node)) continue;
      for (std::string& input : node.inputs) input = resolved(input);
      std::vector<Node> taken{std::move(node)};
      if (options_.rewrite) taken = options_.rewrite(std::move(taken[0]), parts_.initializers, values_);
      for (Node& one : taken) MG_RETURN_IF_ERROR(visit(std::move(one)));
    }
    parts_.nodes = std::move(kept_);
    drop_unused_numbers();
    return std::move(parts_);
  }

 private:
  // An Identity of an initializer: exporters write them where two nodes share a weight.
  bool is_alias(const Node& node) {
    if (node.op != "Identity" || node.inputs.size() != 1 || node.outputs.size() != 1) return false;
    const auto found = parts_.initializers.find(resolved(node.inputs[0]));
    if (found == parts_.initializers.end() || outputs_.contains(node.outputs[0])) return false;
    aliases_[node.outputs[0]] = found->first;
    return true;
  }

  std::string resolved(const std::string& name) const {
    const auto found = aliases_.find(name);
    return found == aliases_.end() ? name : found->second;
  }

  Status visit(Node node) {
    std::string why_not = "no shapes are computed with it";
    if (is_shape_operator(node.op)) {
      Result<ShapeValue> computed = evaluate(node);
      if (!computed.ok()) {
        why_not = computed.error().message;
        if (computes_with_batch(node)) return make_error(Code::unimplemented, describe(node) + ": " + why_not);
      } else if (remember(node.outputs[0], std::move(computed).value()) && !outputs_.contains(node.outputs[0])) {
        return {};
      }
    }
    note_dependence(node, why_not);
    return keep(std::move(node));
  }

  // Whether all inputs are known and the batch is among them: no node can compute it when the model runs either.
  bool computes_with_batch(const Node& node) {
    bool has_batch = false;
    for (const std::string& input : node.inputs) {
      const ShapeValue* value = input.empty() ? nullptr : known(input);
      if (value == nullptr && !input.empty()) return false;
      has_batch = has_batch || (value != nullptr && value->has_batch());
    }
    return has_batch;
  }

  Result<ShapeValue> evaluate(const Node& node) {
    std::vector<const ShapeValue*> inputs;
    std::vector<const ValueInfo*> infos;
    std::vector<ValueInfo> own;  // of inputs that have been folded
    own.reserve(node.inputs.size());
    for (const std::string& name : node.inputs) {
      inputs.push_back(known(name));
      const auto info = values_.find(name);
      if (inputs.back() != nullptr) {
        infos.push_back(&own.emplace_back(ValueInfo{inputs.back()->dtype, inputs.back()->shape}));
      } else {
        infos.push_back(info == values_.end() ? nullptr : &info->second);
      }
    }
    return evaluate_shape_node(node, inputs, infos);
  }

  // The value where it is known, else null.
  const ShapeValue* known(const std::string& name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return &found->second;
    if (!numbers_.contains(name)) return nullptr;
    return remember(name, shape_value_of(parts_.initializers.at(name))) ? &known_.at(name) : nullptr;
  }

  bool remember(const std::string& name, ShapeValue value) {
    elements_ += static_cast<std::int64_t>(value.elements.size());
    if (elements_ > kMostElementsInAll) return false;
    return known_.emplace(name, std::move(value)).second;
  }

  // Why the outputs of this node are not known.
  void note_dependence(const Node& node, const std::string& why_not) {
    std::string reason = describe(node) + ": " + why_not;
    for (const std::string& input : node.inputs) {
      if (const auto found = depends_on_.find(input); found != depends_on_.end()) {
        reason = found->second;
        break;
      }
    }
    for (const std::string& output : node.outputs) depends_on_[output] = reason;
  }

  // The node stays: its known inputs become initializers or nodes.
  Status keep(Node node) {
    MG_RETURN_IF_ERROR(check_in_table(node));
    MG_RETURN_IF_ERROR(check_node(node));
    for (std::size_t i = node.inputs.size(); i-- > 0;) MG_RETURN_IF_ERROR(provide(node, i));  // a Slice's axes first
    MG_RETURN_IF_ERROR(check_constants(node));
    MG_RETURN_IF_ERROR(infer_node(node, parts_.initializers, values_));
    kept_.push_back(std::move(node));
    return {};
  }

  Status check_in_table(const Node& node) const {
    if (find_operator(node.op) != nullptr) return {};
    const std::string where = "node '" + node.name + "': operator '" + node.op + "' is not supported";
    if (is_shape_operator(node.op)) {
      const auto cause = node.outputs.empty() ? depends_on_.end() : depends_on_.find(node.outputs[0]);
      return make_error(Code::unimplemented,
                        where + " except in computations of shapes" +
                            (cause == depends_on_.end() ? "" : ", but here it depends on " + cause->second));
    }
    std::vector<std::string> table;
    for (const Operator& row : operators()) table.emplace_back(row.type);
    return make_error(Code::unimplemented, where + did_you_mean(node.op, table));
  }

  Status check_constants(const Node& node) const {
    for (const std::size_t i : find_operator(node.op)->constants) {
      if (i >= node.inputs.size() || node.inputs[i].empty() || parts_.initializers.contains(node.inputs[i])) continue;
      return make_error(Code::unimplemented, describe(node) + ": " + dynamic_input(node, i));
    }
    return {};
  }

  std::string dynamic_input(const Node& node, std::size_t i) const {
    const auto reason = depends_on_.find(node.inputs[i]);
    return "input " + std::to_string(i) + " ('" + node.inputs[i] + "') must be known when the model is loaded, but " +
           "depends on " + (reason == depends_on_.end() ? "the batch" : reason->second);
  }

  // A file's own sizes below -1 would be taken for several times the batch.
  Status check_sizes(const Node& node, std::size_t i) {
    const bool is_shape =
        (node.op == "Expand" && i == 1) || (node.op == "ConstantOfShape" && i == 0) || (node.op == "Resize" && i == 3);
    const ShapeValue* value = is_shape && !node.inputs[i].empty() ? known(node.inputs[i]) : nullptr;
    if (value == nullptr || value->dtype != DType::i64) return {};
    for (const ShapeValue::Element& element : value->elements) {
      if (element.is_batch() || element.integer >= kBatch) continue;
      return make_error(Code::unimplemented, describe(node) + ": size " + std::to_string(element.integer) +
                                                 " in input " + std::to_string(i) + " ('" + node.inputs[i] +
                                                 "'), expected -1 at least");
    }
    return {};
  }

  // Input i as the node can use it, if it is a value that was folded.
  Status provide(Node& node, std::size_t i) {
    MG_RETURN_IF_ERROR(check_sizes(node, i));
    const auto found = known_.find(node.inputs[i]);
    if (found == known_.end() || parts_.initializers.contains(node.inputs[i])) return {};
    const ShapeValue& value = found->second;
    if (is_initial_state(node, i) && value.is_zero()) {
      node.inputs[i].clear();
      while (node.inputs.back().empty()) node.inputs.pop_back();
      return {};
    }
    if (value.shape.is_symbolic()) {
      return values_.contains(node.inputs[i]) ? Status() : provide_over_batch(node.inputs[i], value);
    }
    const bool free_name = !values_.contains(node.inputs[i]);  // else it is also an output of the graph
    if (free_name && !value.has_batch()) return add_initializer(node.inputs[i], tensor_of(value));
    const std::optional<Tensor> adapted =
        value.has_batch() ? with_batch_in_place(node, i, value, inputs_of(node, values_, parts_.initializers))
                          : std::optional(tensor_of(value));
    if (!adapted) return make_error(Code::unimplemented, describe(node) + ": " + dynamic_input(node, i));
    node.inputs[i] = unused_name(node.name + "." + node.inputs[i]);
    return add_initializer(node.inputs[i], *adapted);
  }

  // Values that later nodes make are not known here, but Graph::create finds a name given twice.
  std::string unused_name(std::string name) const {
    while (values_.contains(name) || known_.contains(name)) name += "_";
    return name;
  }

  Status add_initializer(const std::string& name, Tensor tensor) {
    values_[name] = {tensor.dtype(), tensor.shape()};
    parts_.initializers.insert_or_assign(name, std::move(tensor));
    return {};
  }

  static bool is_initial_state(const Node& node, std::size_t i) {
    return (node.op == "LSTM" && (i == 5 || i == 6)) || ((node.op == "GRU" || node.op == "RNN") && i == 5);
  }

  // A value whose shape has the batch: a node makes it at run time, from its shape.
  Status provide_over_batch(const std::string& name, const ShapeValue& value) {
    Node fill{.name = name, .op = "ConstantOfShape", .attributes = {}, .inputs = {}, .outputs = {name}};
    while (std::any_of(kept_.begin(), kept_.end(), [&](const Node& other) { return other.name == fill.name; })) {
      fill.name += "_";
    }
    ShapeValue one{.dtype = value.dtype, .shape = Shape{1}, .elements = value.elements};
    fill.attributes["value"] = tensor_of(one);
    fill.inputs = {unused_name(name + ".shape")};
    const std::vector<std::int64_t>& dims = value.shape.dims();
    MG_RETURN_IF_ERROR(
        add_initializer(fill.inputs[0], Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(dims.size())}, dims)));
    return keep(std::move(fill));
  }

  // Initializers that were only used in computations that are gone.
  void drop_unused_numbers() {
    std::set<std::string> used = outputs_;
    for (const Node& node : parts_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    std::erase_if(parts_.initializers,
                  [&](const auto& entry) { return known_.contains(entry.first) && !used.contains(entry.first); });
  }

  const FoldOptions& options_;
  GraphParts parts_;
  std::set<std::string> outputs_;
  std::set<std::string> numbers_;  // initializers that may be computed with
  Values values_;                  // of all that the kept nodes see
  std::map<std::string, ShapeValue> known_;
  std::map<std::string, std::string> depends_on_;  // value not known -> what it depends on
  std::map<std::string, std::string> aliases_;
  std::vector<Node> kept_;
  std::int64_t elements_ = 0;
};

}  // namespace

Result<GraphParts> fold_shapes(GraphParts parts, const FoldOptions& options) {
  return ShapeFolder(std::move(parts), options).run();
}

}  // namespace mangrove
