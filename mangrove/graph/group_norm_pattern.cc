#include "mangrove/graph/group_norm_pattern.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "mangrove/graph/passes/value_uses.h"

namespace mangrove {
namespace {

bool all_equal(const Tensor& tensor, double value) {
  const auto equal = [value](const auto& elements) {
    return std::all_of(elements.begin(), elements.end(), [value](auto element) { return element == value; });
  };
  return tensor.dtype() == DType::f32   ? equal(tensor.as<float>())
         : tensor.dtype() == DType::f64 ? equal(tensor.as<double>())
                                        : false;
}

class Matcher {
 public:
  explicit Matcher(Graph graph) : graph_(std::move(graph)), parts_(graph_.parts()), uses_(parts_) {
    for (std::size_t i = 0; i < parts_.nodes.size(); ++i) {
      for (const std::string& output : parts_.nodes[i].outputs) maker_[output] = i;
      for (const std::string& input : parts_.nodes[i].inputs) reader_[input] = i;
    }
  }

  Result<Graph> run() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (graph_.nodes()[i].op == "InstanceNormalization") match(i);
    }
    if (gone_.empty()) return std::move(graph_);
    std::vector<Node> kept;
    for (std::size_t i = 0; i < parts_.nodes.size(); ++i) {
      if (!gone_.contains(i)) kept.push_back(std::move(parts_.nodes[i]));
    }
    parts_.nodes = std::move(kept);
    drop_unused();
    return Graph::create(std::move(parts_));
  }

 private:
  const Node& node(std::size_t i) const { return graph_.nodes()[i]; }

  // The node that makes a value that nobody else reads, if it is of this operator.
  std::optional<std::size_t> made_by(const std::string& value, const char* op) const {
    const auto found = maker_.find(value);
    if (found == maker_.end() || node(found->second).op != op || !uses_.only_one(value)) return std::nullopt;
    return found->second;
  }

  // The only reader of a node's output, if it is of this operator.
  std::optional<std::size_t> read_by(std::size_t i, const char* op) const {
    const std::string& value = node(i).outputs[0];
    const auto found = reader_.find(value);
    if (found == reader_.end() || node(found->second).op != op || !uses_.only_one(value)) return std::nullopt;
    return found->second;
  }

  bool is_constant(const std::string& value, double element) const {
    const auto found = graph_.initializers().find(value);
    return found != graph_.initializers().end() && all_equal(found->second, element);
  }

  /// A number per channel that is multiplied or added: an initializer of C elements.
  struct PerChannel {
    std::string name;
    std::optional<std::size_t> unsqueeze;  // the node that gives it more dimensions
  };

  // The operand of a Mul or Add besides `other`, if it is one number per channel of values of this shape.
  std::optional<PerChannel> per_channel(std::size_t i, const std::string& other, const Shape& shape) const {
    const std::string& operand = node(i).inputs[node(i).inputs[0] == other ? 1 : 0];
    Shape expected(std::vector<std::int64_t>(shape.rank() - 1, 1));
    expected[0] = shape[1];
    const Shape& found = graph_.value(operand).shape;
    std::vector<std::int64_t> dims = found.dims();
    if (dims.size() == shape.rank() && dims[0] == 1) dims.erase(dims.begin());
    if (Shape(dims) != expected) return std::nullopt;
    if (graph_.initializers().contains(operand)) return PerChannel{operand, std::nullopt};
    const auto unsqueeze = made_by(operand, "Unsqueeze");
    if (!unsqueeze || !graph_.initializers().contains(node(*unsqueeze).inputs[0])) return std::nullopt;
    const std::string& source = node(*unsqueeze).inputs[0];
    if (graph_.value(source).shape != Shape{shape[1]}) return std::nullopt;
    return PerChannel{source, unsqueeze};
  }

  // The initializer as a vector of its elements.
  std::string vector_named(const PerChannel& operand) {
    const Tensor& tensor = parts_.initializers.at(operand.name);
    if (tensor.shape().rank() == 1) return operand.name;
    const Tensor flat = tensor.reshaped(Shape{tensor.elements()});
    const std::string name =
        uses_.count(operand.name) == 1 ? operand.name : uses_.unused_name(operand.name + ".vector");
    parts_.initializers.insert_or_assign(name, flat);
    return name;
  }

  // `instance`: position of an InstanceNormalization.
  void match(std::size_t instance) {
    const Node& norm = node(instance);
    const auto before = made_by(norm.inputs[0], "Reshape");
    const auto after = read_by(instance, "Reshape");
    if (!before || !after || !is_constant(norm.inputs[1], 1) || !is_constant(norm.inputs[2], 0)) return;
    const std::string& x = node(*before).inputs[0];
    const Shape& shape = graph_.value(x).shape;
    const Shape& grouped = graph_.value(norm.inputs[0]).shape;
    if (shape.rank() < 3 || grouped.rank() != 3 || grouped[0] != shape[0] || shape[1] % grouped[1] != 0 ||
        graph_.value(node(*after).outputs[0]).shape != shape) {
      return;
    }
    const auto multiply = read_by(*after, "Mul");
    const auto add = multiply ? read_by(*multiply, "Add") : std::nullopt;
    if (!add) return;
    const auto scale = per_channel(*multiply, node(*after).outputs[0], shape);
    const auto bias = per_channel(*add, node(*multiply).outputs[0], shape);
    if (!scale || !bias) return;
    for (const std::size_t i : {*before, instance, *after, *multiply}) gone_.insert(i);
    for (const auto& operand : {scale, bias}) {
      if (operand->unsqueeze) gone_.insert(*operand->unsqueeze);
    }
    Node& result = parts_.nodes[*add];
    result.op = "GroupNormalization";
    result.attributes = {{"num_groups", grouped[1]}, {"epsilon", norm.float_or("epsilon", 1e-5f)}};
    result.inputs = {x, vector_named(*scale), vector_named(*bias)};
  }

  // What only the nodes that are gone have read.
  void drop_unused() {
    std::set<std::string> used(parts_.outputs.begin(), parts_.outputs.end());
    for (const Node& one : parts_.nodes) used.insert(one.inputs.begin(), one.inputs.end());
    std::erase_if(parts_.initializers,
                  [&](const auto& entry) { return uses_.count(entry.first) > 0 && !used.contains(entry.first); });
  }

  Graph graph_;
  GraphParts parts_;
  ValueUses uses_;
  std::map<std::string, std::size_t> maker_, reader_;
  std::set<std::size_t> gone_;
};

}  // namespace

Result<Graph> recognise_group_norms(Graph graph) {
  return Matcher(std::move(graph)).run();
}

}  // namespace mangrove
