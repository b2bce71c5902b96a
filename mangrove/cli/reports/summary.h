#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mangrove::cli {

/// The result of a command as a table for people; `results` maps "train", "eval" and "infer" to their JSON objects.
std::string summary_table(const nlohmann::json& results);

}  // namespace mangrove::cli
