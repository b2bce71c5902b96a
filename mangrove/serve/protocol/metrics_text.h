#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// Counts and times in the text format of Prometheus, version 0.0.4.
std::string metrics_text(const std::vector<std::shared_ptr<Model>>& models, const TrafficCounts& traffic);

}  // namespace mangrove::serve
