#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mangrove::cli {

/// Whether the object is what `mangrove plan --json` prints.
bool is_plan(const nlohmann::json& object);

/// The plan as a page: its figures, the devices and their links, the stages on them, and what other plans would come
/// to.
std::string plan_page(const nlohmann::json& plan);

}  // namespace mangrove::cli
