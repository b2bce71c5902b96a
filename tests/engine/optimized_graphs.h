#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/engine/sample_graphs.h"

#include "mangrove/engine/optimize.h"

namespace mangrove {

constexpr std::int64_t kOnnxFloat = 1, kOnnxDouble = 11;  // as Cast calls them

/// What optimize() makes of it; the test fails where that fails.
Optimized optimized(const Graph& graph, std::set<std::string> disabled = {}, Mode mode = Mode::inference);

/// Fails unless both give the same results on random inputs, on the portable kernels in f64.
void expect_same_results(const Graph& graph, const Graph& other);

/// In f64.
GraphSketch sketch();
GraphSketch& add_norm(GraphSketch& graph, const std::string& input, const std::string& output, std::int64_t channels);
/// Conv of [N, 4, 5, 5] with these weights, and BatchNormalization: "y".
Graph conv_norm(const std::map<std::string, Attribute>& attributes, const Shape& weights, std::int64_t channels,
                bool bias);
/// "name": `input` as bytes of this scale, dequantized.
GraphSketch& add_bytes(GraphSketch& graph, const std::string& input, const std::string& name, float scale);

}  // namespace mangrove
