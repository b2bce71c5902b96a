#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mangrove::cli {

/// What the value of an option ("--codec") of a command ("train") can be, from the tables that know it; empty where
/// that is no list.
std::vector<std::string> option_choices(std::string_view command, std::string_view option);

}  // namespace mangrove::cli
