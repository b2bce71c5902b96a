#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mangrove/base/file.h"

namespace mangrove::cli {

/// The data sets and kinds of files that there are, which of them are here, and what --augment takes.
Result<nlohmann::json> describe_known_data(const fs::path& folder);
std::string known_data_table(const nlohmann::json& known);

/// One data set: splits, classes with their numbers of samples, the shape of a sample, mean and deviation per channel.
/// errors: those of data::open_dataset for the training split.
Result<nlohmann::json> describe_data(const std::string& spec, const fs::path& folder);
std::string data_table(const nlohmann::json& description);

}  // namespace mangrove::cli
