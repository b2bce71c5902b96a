#pragma once

#include <set>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::cli {

/// The help of the key disable_pass: which passes there are.
std::string disable_pass_help();

/// The names in "conv1, fc2".
std::vector<std::string> parse_names(const std::string& list);

/// The names in "fold_batch_norm, fuse". errors: invalid_argument: no pass has that name; names the nearest.
Result<std::set<std::string>> parse_pass_names(const std::string& list);

/// A graph rewritten for inference without these passes, see engine/optimize.h. errors: those of optimize.
Result<Graph> rewritten_for_inference(const Graph& graph, const std::set<std::string>& disabled);

}  // namespace mangrove::cli
