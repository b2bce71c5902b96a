#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "mangrove/graph/graph.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::compress {

// What a weight's number in a constraint says; any other is that of the value which it shares.
constexpr std::int32_t kZero = 0;   // it is zero, and stays zero
constexpr std::int32_t kFree = -1;  // it has a value of its own

/// What training must keep, by parameter: i32 of the parameter's shape, a number for each weight. Weights with the same
/// number above 0 have the same value, and get the same. A parameter without an entry is free.
using Constraints = std::map<std::string, Tensor>;

/// A network between two steps of a recipe.
struct Network {
  Graph graph;
  Constraints constraints = {};
};

/// The constraint that says which weights of a parameter are zero now; kept shares stay. other: nothing but zeros
/// where there was none.
Tensor zeros_constraint(const Tensor& weights, const Tensor* before);

/// Gradients that keep the constraint: zero where the weight is zero; where weights share a value the sum of theirs,
/// which is the gradient of that value. numbers: of a constraint, as floats, in the order of the gradients.
/// source: Han, Mao & Dally, Deep Compression, ICLR 2016, section 3.
void constrain_gradients(std::span<const float> numbers, std::span<float> gradients);
/// Weights that keep it, whatever rounding did: zeros, and for shared ones the value of the first of them.
void constrain_weights(std::span<const float> numbers, std::span<float> weights);

}  // namespace mangrove::compress
