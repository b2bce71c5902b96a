#include "mangrove/graph/einsum_lowering.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "mangrove/graph/einsum_equation.h"

namespace mangrove {
namespace {

using Letters = std::vector<std::size_t>;

Letters letters_of(const EinsumEquation::Term& term) {
  Letters letters;
  for (const EinsumEquation::Dimension& dimension : term) letters.push_back(dimension.letter);
  return letters;
}

bool has_letter(const Letters& letters, std::size_t letter) {
  return std::ranges::find(letters, letter) != letters.end();
}

Letters joined(Letters first, const Letters& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Stacks of [rows, summed] times stacks of [summed, columns]; of several letters of rows there are no stacks.
struct MatrixProduct {
  Letters stacks, rows, columns, summed;

  bool is_one() const {
    return summed.size() == 1 && columns.size() == 1 && (rows.size() == 1 || (stacks.empty() && !rows.empty()));
  }
};

// Nothing where a letter is in one operand alone, or stands for a 1 that meets more.
std::optional<MatrixProduct> product_of(const EinsumEquation& equation) {
  for (const EinsumEquation::Term& term : equation.operands) {
    for (const EinsumEquation::Dimension& dimension : term)
      if (dimension.size != equation.sizes[dimension.letter]) return std::nullopt;
  }
  const Letters a = letters_of(equation.operands[0]), b = letters_of(equation.operands[1]),
                result = letters_of(equation.result);
  MatrixProduct product;
  for (const std::size_t letter : a) {
    const bool in_b = has_letter(b, letter), in_result = has_letter(result, letter);
    if (!in_b && !in_result) return std::nullopt;
    (in_b && in_result ? product.stacks : in_b ? product.summed : product.rows).push_back(letter);
  }
  for (const std::size_t letter : b) {
    if (has_letter(a, letter)) continue;
    if (!has_letter(result, letter)) return std::nullopt;
    product.columns.push_back(letter);
  }
  const bool sums_the_batch =
      std::ranges::any_of(product.summed, [&](std::size_t letter) { return equation.sizes[letter] < 0; });
  return sums_the_batch ? std::nullopt : std::optional(std::move(product));
}

class Lowered {
 public:
  Lowered(const Node& node, const std::map<std::string, Tensor>& initializers, const Values& values)
      : node_(node), initializers_(initializers), values_(values) {}

  std::vector<Node> run(const MatrixProduct& product, const std::array<std::size_t, 2>& order,
                        const EinsumEquation& equation) && {
    const Letters a = joined(joined(product.stacks, product.rows), product.summed);
    const Letters b = joined(joined(product.stacks, product.summed), product.columns);
    const Letters made = joined(joined(product.stacks, product.rows), product.columns);
    const Letters wanted = letters_of(equation.result);
    const std::string first = turned(node_.inputs[order[0]], letters_of(equation.operands[order[0]]), a, ".a");
    const std::string second = turned(node_.inputs[order[1]], letters_of(equation.operands[order[1]]), b, ".b");
    const std::string result = made == wanted ? node_.outputs[0] : unused(".product");
    nodes_.push_back({node_.name, "MatMul", {}, {first, second}, {result}});
    if (made != wanted) transpose(result, made, wanted, unused(".result"), node_.outputs[0]);
    return std::move(nodes_);
  }

 private:
  std::string unused(const std::string& suffix) const {
    std::string name = node_.name + suffix;
    while (initializers_.contains(name) || values_.contains(name)) name += "_";
    return name;
  }

  void transpose(const std::string& value, const Letters& from, const Letters& to, const std::string& name,
                 const std::string& output) {
    std::vector<std::int64_t> permutation;
    for (const std::size_t letter : to) permutation.push_back(std::ranges::find(from, letter) - from.begin());
    nodes_.push_back({name, "Transpose", {{"perm", std::move(permutation)}}, {value}, {output}});
  }

  std::string turned(const std::string& value, const Letters& from, const Letters& to, const std::string& suffix) {
    if (from == to) return value;
    std::string name = unused(suffix);
    transpose(value, from, to, name, name);
    return name;
  }

  const Node& node_;
  const std::map<std::string, Tensor>& initializers_;
  const Values& values_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<Node> einsum_as_matmul(Node node, const std::map<std::string, Tensor>& initializers, const Values& values) {
  const auto text = node.attributes.find("equation");
  const auto* equation = text == node.attributes.end() ? nullptr : std::get_if<std::string>(&text->second);
  if (equation == nullptr || node.inputs.size() != 2 || node.outputs.size() != 1) return {node};
  std::vector<Shape> shapes;
  for (const std::string& input : node.inputs) {
    const auto value = values.find(input);
    if (value == values.end()) return {node};
    shapes.push_back(value->second.shape);
  }
  const Result<EinsumEquation> resolved = einsum_equation(*equation, shapes);
  if (!resolved.ok()) return {node};
  std::optional<MatrixProduct> product = product_of(*resolved);
  if (!product) return {node};
  std::array<std::size_t, 2> order{0, 1};
  if (!product->is_one()) {  // perhaps the other way round
    std::swap(product->rows, product->columns);
    order = {1, 0};
  }
  return product->is_one() ? Lowered(node, initializers, values).run(*product, order, *resolved)
                           : std::vector<Node>{node};
}

}  // namespace mangrove
