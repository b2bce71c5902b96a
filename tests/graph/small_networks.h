#pragma once

#include <cstddef>
#include <cstdint>

#include "mangrove/graph/graph.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove {

/// f32, normal numbers times `scale`.
Tensor random_tensor(Shape shape, double scale, std::uint64_t seed);

constexpr std::size_t kSmallOperators = 7;
/// A convolutional network of seven operators, a chain.
Graph small_graph();
/// One whose values skip operators: more than one value crosses its cuts.
Graph skipping_graph();

}  // namespace mangrove
