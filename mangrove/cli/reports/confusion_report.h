#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mangrove::cli {

/// The `confusion` and `classes` of a result for people: the matrix where it is at most as wide as a page, else the
/// classes that are recognised worst and the pairs that are confused most. "" where there is none.
std::string confusion_text(const nlohmann::json& result);

}  // namespace mangrove::cli
