#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove {

/// The graph with its nodes in this order. errors: invalid_argument (not an order of them in which each comes behind
/// those that it reads from).
Result<Graph> in_order(const Graph& graph, std::span<const std::uint32_t> order);

/// The values that cross a cut before operator `position` (0 .. number of operators): made before it, as graph inputs
/// or by operators, and used after it or by whoever wants the graph's outputs. In a fixed order; one value in a chain.
std::vector<std::string> values_at_cut(const Graph& graph, std::size_t position);

/// Whether a value can travel from one device to another, for some samples of a batch: f32, and dimension 0 is the
/// batch, so that the samples' parts lie one after the other, or there is none.
bool can_travel(const ValueInfo& info);

/// f32 elements of a value when `count` samples travel: its rows for these samples, or all of a value without a batch.
std::int64_t elements_of(const ValueInfo& info, std::int64_t count);

/// Of all values at a cut.
std::int64_t elements_at_cut(const Graph& graph, std::size_t position, std::int64_t count);

}  // namespace mangrove
