#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/graph/node_inference.h"

namespace mangrove {

/// An Einsum of two operands that is a product of matrices, as Transpose and MatMul, for which there are fast kernels:
/// "bhid,bhjd->bhij", "bic,cd->bid". Any other stays as it is, and so does one that does not fit its operands.
/// Its inputs are in `values`; new values get names that no initializer has.
std::vector<Node> einsum_as_matmul(Node node, const std::map<std::string, Tensor>& initializers, const Values& values);

}  // namespace mangrove
