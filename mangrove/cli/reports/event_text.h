#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "mangrove/base/units.h"

namespace mangrove::cli {

/// What people read of an event of a job (docs/json.md).
struct EventText {
  std::string line;             // one line without control characters; "": it says only that all is as it should be
  bool is_warning = false;      // a person may have to act upon it
  bool is_advice = false;       // how many boards would be enough
  std::optional<Seconds> time;  // since its job began
};

/// The sentence is the sender's. Of an event without one, from an older program, the line names its keys and values.
EventText event_text(const nlohmann::json& event);
EventText event_text(const nlohmann::ordered_json& event);

}  // namespace mangrove::cli
