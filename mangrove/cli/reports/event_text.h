#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mangrove::cli {

/// An event of a job (docs/json.md) as one line for people, e.g. "pi-3 is lost: no heartbeat for 3.0 s". "" for one
/// that says nothing but that all is as it should be.
std::string event_line(const nlohmann::json& event);

/// Whether the event is one that a person may have to act upon.
bool is_warning(const nlohmann::json& event);

/// What a training's `advice` comes to, in one line; "" where there is nothing to be done better.
std::string advice_line(const nlohmann::json& advice);

}  // namespace mangrove::cli
