#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// What a model consists of at this batch size: inputs, outputs, a row per operator, totals.
nlohmann::json model_report(const Graph& graph, std::int64_t batch);

/// The report as a table for people.
std::string model_table(const nlohmann::json& report);

/// The graph in Graphviz' language: a box per operator, an arrow per value with its shape.
/// format: https://graphviz.org/doc/info/lang.html
std::string to_dot(const Graph& graph);

}  // namespace mangrove::cli
