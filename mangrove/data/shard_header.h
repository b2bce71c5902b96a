#pragma once

#include <string>
#include <string_view>

#include "mangrove/data/shard_file.h"

namespace mangrove::data {

/// The header of a shard as JSON, and from it. errors: data_loss (not such an object; names the member and what was
/// expected).
std::string to_json(const ShardHeader& header);
Result<ShardHeader> parse_shard_header(std::string_view text);

}  // namespace mangrove::data
