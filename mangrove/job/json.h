#pragma once

#include <nlohmann/json.hpp>

#include "mangrove/base/json_dump.h"

namespace mangrove::job {

/// What jobs tell: keys stay in the order in which they were put in.
using Json = nlohmann::ordered_json;

}  // namespace mangrove::job
