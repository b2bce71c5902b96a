#include "mangrove/graph/node_check.h"

#include <algorithm>
#include <vector>

#include "mangrove/base/suggestion.h"

namespace mangrove {
namespace {

// In the order of both Operator::AttributeKind and the alternatives of Attribute.
constexpr const char* kKindNames[] = {"an integer", "a real", "a string", "integers", "reals", "a tensor", "strings"};
static_assert(std::size(kKindNames) == std::variant_size_v<Attribute>);

std::string range(std::size_t least, std::size_t most) {
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

Status check_arity(const Node& node, const Operator& row) {
  if (node.inputs.size() < row.min_inputs || node.inputs.size() > row.max_inputs) {
    return make_error(Code::invalid_argument, "has " + std::to_string(node.inputs.size()) + " inputs, expected " +
                                                  range(row.min_inputs, row.max_inputs));
  }
  if (node.outputs.size() < row.min_outputs || node.outputs.size() > row.max_outputs) {
    return make_error(Code::invalid_argument, "has " + std::to_string(node.outputs.size()) + " outputs, expected " +
                                                  range(row.min_outputs, row.max_outputs));
  }
  if (std::all_of(node.outputs.begin(), node.outputs.end(), [](const std::string& name) { return name.empty(); })) {
    return make_error(Code::invalid_argument, "none of its outputs has a name");
  }
  for (std::size_t i = 0; i < row.min_inputs; ++i) {
    if (node.inputs[i].empty()) {
      return make_error(Code::invalid_argument, "input " + std::to_string(i) + " is left out, but it is not optional");
    }
  }
  return {};
}

Status check_attributes(const Node& node, const Operator& row) {
  for (const auto& [key, value] : node.attributes) {
    const auto rule = std::find_if(row.attributes.begin(), row.attributes.end(),
                                   [&key = key](const auto& candidate) { return candidate.name == key; });
    if (rule == row.attributes.end()) {
      std::vector<std::string> known;
      for (const auto& candidate : row.attributes) known.emplace_back(candidate.name);
      return make_error(Code::invalid_argument,
                        "unknown attribute '" + key + "'" + (known.empty() ? "" : suggestion(key, known)));
    }
    if (const auto wanted = static_cast<std::size_t>(rule->kind); value.index() != wanted) {
      return make_error(Code::invalid_argument,
                        "attribute '" + key + "' is " + kKindNames[value.index()] + ", expected " + kKindNames[wanted]);
    }
  }
  return {};
}

}  // namespace

std::string describe(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

Result<const Operator*> check_node(const Node& node) {
  const Operator* row = find_operator(node.op);
  if (row == nullptr) {
    std::vector<std::string> known;
    for (const Operator& candidate : operators()) known.emplace_back(candidate.type);
    return make_error(Code::invalid_argument,
                      "node '" + node.name + "': unknown operator '" + node.op + "'" + suggestion(node.op, known));
  }
  MG_RETURN_IF_ERROR(check_arity(node, *row).context(describe(node)));
  MG_RETURN_IF_ERROR(check_attributes(node, *row).context(describe(node)));
  return row;
}

}  // namespace mangrove
