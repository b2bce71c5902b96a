#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::testing {

Node make_node(std::string name, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::map<std::string, Attribute> attributes = {});

/// Conv (3 x 3, 4 channels) - Relu - MaxPool - Reshape - Gemm - Softmax over x [N, 2, 8, 8], with attributes of every
/// kind, constants that are no parameters, and metadata.
GraphParts small_network();

/// x [N, 4] through two branches that share a weight and meet again: Gemm "left", Gemm "right", Relu, Add.
GraphParts two_branches();

/// The output shape of a graph of one node whose inputs have these shapes (all f32; values "x0", "x1", ...); where
/// `constants` has an entry for an input, that is its initializer instead.
Result<Shape> infer_one(Node node, const std::vector<Shape>& inputs,
                        const std::map<std::size_t, Tensor>& constants = {});

}  // namespace mangrove::testing
