#include "mangrove/graph/open_batch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/node_inference.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/sample_order.h"

namespace mangrove {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor shape_vector(const Ints& values) {
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// What a node becomes: perhaps with nodes before it, and with constants of its own.
struct Replacement {
  std::vector<Node> nodes;
  std::map<std::string, Tensor> constants;
};

/// Walks over the nodes and gives each the shapes that it has for any batch; goes back to the last node with a choice
/// where one does not fit.
class BatchOpener {
 public:
  explicit BatchOpener(const Graph& graph) : graph_(graph), parts_(graph.parts()) { parts_.nodes.clear(); }

  Result<Graph> run() {
    open_inputs();
    MG_TRY(values_, given_values(parts_));
    const std::vector<Node>& nodes = graph_.nodes();
    if (nodes.empty()) return finish();
    std::int64_t tries = kTriesForEach * static_cast<std::int64_t>(nodes.size()) + kMoreTries;
    choices_.push_back({replacements(nodes.front()), 0, 0, {}, {}});
    while (true) {
      if (--tries < 0) return why_not_.value_or(make_error(Code::unimplemented, "too many shapes are possible"));
      const bool taken = take_next(nodes[choices_.size() - 1]);
      if (!taken && !go_back()) return *why_not_;
      if (!taken) continue;
      if (choices_.size() == nodes.size()) return finish();
      choices_.push_back({replacements(nodes[choices_.size()]), 0, 0, {}, {}});
    }
  }

 private:
  static constexpr std::int64_t kTriesForEach = 8;
  static constexpr std::int64_t kMoreTries = 64;

  struct Choice {
    std::vector<Replacement> replacements;
    std::size_t next;                    // the replacement to be tried
    std::size_t nodes;                   // how many were taken with the last one
    std::vector<std::string> values;     // what it defined
    std::vector<std::string> constants;  // and which initializers it brought
  };

  void open_inputs() {
    for (auto& [name, info] : parts_.inputs) {
      if (!parts_.initializers.contains(name) && info.shape.rank() > 0 && info.shape[0] == 1) info.shape[0] = kBatch;
    }
  }

  const Shape& shape_of(const std::string& name) const { return values_.at(name).shape; }

  bool is_symbolic(const std::string& name) const { return !name.empty() && shape_of(name).is_symbolic(); }

  // What the node may become, the likeliest first.
  std::vector<Replacement> replacements(const Node& node) {
    if (std::ranges::none_of(node.inputs, [&](const auto& input) { return is_symbolic(input); })) return {{{node}, {}}};
    if (node.op == "Reshape") return reshapes(node);
    if (node.op == "Expand" && is_symbolic(node.inputs[0])) return {with_size(node, 1, 1)};
    if (node.op == "Resize" && node.inputs.size() > 3 && !node.inputs[3].empty()) return {with_size(node, 3, kBatch)};
    if (node.op == "Concat") return {repeating(node, 0)};
    if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") return {repeating(node, kInitialState)};
    return {{{node}, {}}};
  }

  static constexpr std::size_t kInitialState = 5;  // the input of a recurrent node; an LSTM has two

  // The node with another vector of sizes as input `position`.
  Replacement with_sizes(Node node, std::size_t position, const Ints& sizes) {
    Replacement replacement;
    std::string name = unused(node.name + ".open_shape");
    node.inputs[position] = name;
    replacement.constants.emplace(std::move(name), shape_vector(sizes));
    replacement.nodes.push_back(std::move(node));
    return replacement;
  }

  // One shape for each dimension that may hold the batch.
  std::vector<Replacement> reshapes(const Node& node) {
    const Shape& input = shape_of(node.inputs[0]);
    const Shape& fixed = graph_.value(node.outputs[0]).shape;
    if (!input.is_symbolic() || fixed.elements() == 0) return {{{node}, {}}};
    std::vector<std::pair<std::int64_t, std::size_t>> places;  // the smaller the first, the likelier
    for (std::size_t i = 0; i < fixed.rank(); ++i) {
      Shape open = fixed;
      open[i] = -open[i];
      const std::optional<std::int64_t> outer = order_.outer_in(node.inputs[0], input, open);
      if (!outer) continue;
      const bool is_last = i + 1 == fixed.rank();
      places.emplace_back(fixed[i] == 1 ? 0 : is_last ? 3 : *outer == 1 ? 1 : 2, i);
    }
    std::ranges::sort(places);
    std::vector<Replacement> all;
    for (const auto& [likelihood, place] : places) {
      Ints sizes = fixed.dims();
      sizes[place] = -1;
      all.push_back(with_sizes(node, 1, sizes));
    }
    if (all.empty()) all.push_back({{node}, {}});  // which says what does not fit
    return all;
  }

  // An Expand or Resize whose sizes say `size` where the batch is, in place of what the file says.
  Replacement with_size(const Node& node, std::size_t position, std::int64_t size) {
    const Shape& input = shape_of(node.inputs[0]);
    Ints sizes = graph_.value(node.outputs[0]).shape.dims();
    const std::size_t place = *input.symbolic_axis() + sizes.size() - input.rank();
    if (sizes[place] != input.batches()) return {{node}, {}};
    sizes[place] = size == kBatch ? -input.batches() : size;
    return with_sizes(node, position, sizes);
  }

  // What has no batch among a node's inputs from `first` on is repeated for each sample.
  Replacement repeating(Node node, std::size_t first) {
    Replacement replacement;
    const std::size_t axis = first == 0 ? open_axis(node) : node.int_or("layout", 0) != 0 ? 0 : 1;
    for (std::size_t i = first; i < node.inputs.size(); ++i) {
      const std::string& input = node.inputs[i];
      const bool is_weight = first == kInitialState && i > kInitialState + (node.op == "LSTM" ? 1 : 0);
      if (input.empty() || is_symbolic(input) || is_weight) continue;
      Ints sizes = shape_of(input).dims();
      if (axis >= sizes.size() || sizes[axis] != 1) continue;
      sizes[axis] = -1;
      const std::string name = unused(node.name + ".repeated" + std::to_string(i));
      Node expand{
          .name = name, .op = "Expand", .attributes = {}, .inputs = {input, name + ".shape"}, .outputs = {name}};
      replacement.constants.emplace(name + ".shape", shape_vector(sizes));
      replacement.nodes.push_back(std::move(expand));
      node.inputs[i] = name;
    }
    replacement.nodes.push_back(std::move(node));
    return replacement;
  }

  // Where the inputs of a node that have the batch have it.
  std::size_t open_axis(const Node& node) const {
    const auto found = std::ranges::find_if(node.inputs, [&](const auto& input) { return is_symbolic(input); });
    return *shape_of(*found).symbolic_axis();
  }

  std::string unused(std::string name) const {
    while (graph_.has_value(name) || graph_.has_value(name + ".shape")) name += "_";
    return name;
  }

  // Tries the current node's replacements until one fits.
  bool take_next(const Node& node) {
    Choice& choice = choices_.back();
    while (choice.next < choice.replacements.size()) {
      Status fits = take(node, choice, choice.replacements[choice.next++]);
      if (fits.ok()) return true;
      if (!why_not_) why_not_ = fits.error();
      undo(choice);
    }
    return false;
  }

  Status take(const Node& node, Choice& choice, const Replacement& replacement) {
    for (const auto& [name, tensor] : replacement.constants) {
      parts_.initializers.emplace(name, tensor);
      values_[name] = {tensor.dtype(), tensor.shape()};
      choice.constants.push_back(name);
      choice.values.push_back(name);
    }
    for (const Node& one : replacement.nodes) {
      for (const std::string& output : one.outputs) choice.values.push_back(output);
      MG_RETURN_IF_ERROR(infer_node(one, parts_.initializers, values_));
      MG_RETURN_IF_ERROR(order_.note(one, values_));
      MG_RETURN_IF_ERROR(check(one));
      parts_.nodes.push_back(one);
      ++choice.nodes;
    }
    return check_sizes(node);
  }

  // Whether the node computes each sample by itself.
  Status check(const Node& node) const {
    if (std::ranges::none_of(node.inputs, [&](const auto& input) { return is_symbolic(input); })) return {};
    if (find_operator(node.op)->mixes_samples) {
      return make_error(Code::unimplemented, describe(node) + ": the operator may mix the samples of a batch");
    }
    for (const std::string& output : node.outputs) {
      if (output.empty() || is_symbolic(output)) continue;
      return make_error(Code::unimplemented,
                        describe(node) + ": output '" + output + "' would be one for all samples of a batch");
    }
    return {};
  }

  // With one sample, all is as the file says.
  Status check_sizes(const Node& node) const {
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      const Shape &open = shape_of(output), &fixed = graph_.value(output).shape;
      if (open.with_batch(1) == fixed) continue;
      return make_error(Code::unimplemented, describe(node) + ": output '" + output + "' would be " + to_string(open) +
                                                 " for N samples, but the file has " + to_string(fixed) + " for one");
    }
    return {};
  }

  void undo(Choice& choice) {
    for (const std::string& name : choice.values) values_.erase(name);
    for (const std::string& name : choice.constants) parts_.initializers.erase(name);
    parts_.nodes.resize(parts_.nodes.size() - choice.nodes);
    choice.nodes = 0;
    choice.values.clear();
    choice.constants.clear();
  }

  // To the last node that may become something else. False: there is none.
  bool go_back() {
    choices_.pop_back();
    while (!choices_.empty()) {
      undo(choices_.back());
      if (choices_.back().next < choices_.back().replacements.size()) return true;
      choices_.pop_back();
    }
    return false;
  }

  Result<Graph> finish() {
    for (const std::string& output : parts_.outputs) {
      if (shape_of(output).batches() == 1) continue;
      return make_error(Code::unimplemented,
                        "output '" + output + "' would be " + to_string(shape_of(output)) + " for N samples");
    }
    std::set<std::string> used(parts_.outputs.begin(), parts_.outputs.end());
    for (const Node& node : parts_.nodes) used.insert(node.inputs.begin(), node.inputs.end());
    for (const Node& node : graph_.nodes()) {
      for (const std::string& input : node.inputs) {
        if (!used.contains(input)) parts_.initializers.erase(input);
      }
    }
    return Graph::create(std::move(parts_));
  }

  const Graph& graph_;
  GraphParts parts_;
  Values values_;
  SampleOrder order_;
  std::vector<Choice> choices_;   // one for each node so far
  std::optional<Error> why_not_;  // the first reason, which is the likeliest to help
};

}  // namespace

bool has_batch_of_one(const Graph& graph) {
  if (graph.inputs().empty()) return false;
  const Shape& first = graph.inputs().front().second.shape;
  return first.rank() > 0 && first[0] == 1 &&
         std::ranges::none_of(graph.inputs(), [](const auto& input) { return input.second.shape.is_symbolic(); });
}

Result<Graph> open_batch(const Graph& graph) {
  if (!has_batch_of_one(graph)) {
    return make_error(Code::failed_precondition, "graph '" + graph.name() + "' has no batch of 1 to open");
  }
  return BatchOpener(graph).run();
}

}  // namespace mangrove
