#pragma once

#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// Where a network's metadata has the names of its classes: a JSON list.
constexpr const char* kClassesKey = "mangrove.classes";

/// The names of a classifier's classes in its metadata, by number. Empty where there is no list of names.
std::vector<std::string> class_names(const Graph& graph);

}  // namespace mangrove::learn
