#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mangrove::cli {

/// A confusion matrix (row: truth; column: prediction) for people: as it is where it is at most as wide as a page, else
/// the classes that are recognised worst and the pairs that are confused most. "" where it is empty, or not of these
/// classes.
std::string confusion_text(const std::vector<std::string>& classes,
                           const std::vector<std::vector<std::int64_t>>& confusion);

}  // namespace mangrove::cli
