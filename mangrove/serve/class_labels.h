#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::serve {

/// Names of the classes of a classifier, by number: the lines of a text file, or of "" those in the network's metadata.
/// Empty where there are none. errors: those of read_file.
Result<std::vector<std::string>> class_labels(const std::string& file, const Graph& graph);

}  // namespace mangrove::serve
