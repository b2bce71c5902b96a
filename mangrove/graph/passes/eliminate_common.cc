// Nodes that compute the same from the same become one.
#include <algorithm>
#include <cstring>
#include <map>

#include "mangrove/graph/node_check.h"
#include "mangrove/graph/operator.h"
#include "mangrove/graph/passes/passes.h"
#include "mangrove/graph/passes/value_uses.h"

namespace mangrove::passes_detail {
namespace {

template <class T>
void append_bytes(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_text(std::string& key, const std::string& text) {
  append_bytes(key, text.size());
  key += text;
}

void append_value(std::string& key, const std::string& text) {
  append_text(key, text);
}

void append_value(std::string& key, const Tensor& tensor) {
  append_bytes(key, tensor.dtype());
  append_text(key, to_string(tensor.shape()));
  key.append(reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes()));
}

template <class T>
void append_value(std::string& key, const std::vector<T>& values) {
  append_bytes(key, values.size());
  for (const T& value : values) append_bytes(key, value);
}

void append_value(std::string& key, const std::vector<std::string>& texts) {
  append_bytes(key, texts.size());
  for (const std::string& text : texts) append_text(key, text);
}

template <class T>
requires std::is_arithmetic_v<T>
void append_value(std::string& key, const T& value) {
  append_bytes(key, value);
}

// Equal for nodes that compute the same: operator, attributes and inputs, each with its length.
std::string key_of(const Node& node) {
  std::string key;
  append_text(key, node.op);
  for (const auto& [name, attribute] : node.attributes) {
    append_text(key, name);
    append_bytes(key, attribute.index());
    std::visit([&](const auto& value) { append_value(key, value); }, attribute);
  }
  append_bytes(key, node.inputs.size());
  for (const std::string& input : node.inputs) append_text(key, input);
  append_bytes(key, node.outputs.size());
  for (const std::string& output : node.outputs) append_bytes(key, output.empty());  // which are left out
  return key;
}

// In training each Dropout draws numbers of its own, and each BatchNormalization updates its state.
bool may_merge(const Node& node, const ValueUses& uses, const PassContext& context) {
  if (context.training && (node.op == "Dropout" || !find_operator(node.op)->states.empty())) return false;
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](const std::string& output) { return uses.is_output(output); });
}

}  // namespace

Result<Rewrite> eliminate_common(const Graph& graph, const PassContext& context) {
  Rewrite rewrite{graph.parts(), {}};
  const ValueUses uses(graph.parts());
  Replacements replacements;
  std::map<std::string, Node> seen;
  std::vector<Node> kept;
  for (Node node : graph.nodes()) {
    for (std::string& input : node.inputs) input = replacements.resolve(input);
    const auto [first, is_new] = seen.emplace(key_of(node), node);
    if (is_new || !may_merge(node, uses, context)) {
      kept.push_back(std::move(node));
      continue;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) replacements.add(node.outputs[i], first->second.outputs[i]);
    }
    rewrite.notes.push_back(describe(node) + " is dropped: it computes the same as " + describe(first->second));
  }
  rewrite.parts.nodes = std::move(kept);
  return rewrite;
}

}  // namespace mangrove::passes_detail
