#pragma once

#include <map>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/graph/operator.h"

namespace mangrove {

using Values = std::map<std::string, ValueInfo>;

/// Types and shapes of a graph's inputs and initializers.
/// errors: invalid_argument: a size below 1 of an input, too many elements, a name used twice; unimplemented: several
/// symbolic dimensions.
Result<Values> given_values(const GraphParts& parts);

/// Names only: nodes have unique ones, every value is made once, and every value that is used is made somewhere.
/// `given`: the values that no node makes.
Status check_names(const GraphParts& parts, const Values& given);

/// What the rules of an operator see of a node whose inputs have these types and shapes.
OperatorInputs inputs_of(const Node& node, const Values& values, const std::map<std::string, Tensor>& initializers);

/// Checks a node against its row of the operator table and adds types and shapes of its outputs to `values`, which has
/// those of its inputs. errors: those of check_node and of the row's shape rule; the message names the node.
Status infer_node(const Node& node, const std::map<std::string, Tensor>& initializers, Values& values);

}  // namespace mangrove
