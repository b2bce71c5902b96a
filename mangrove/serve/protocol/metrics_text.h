#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// A text as the value of a label, between its quotes.
std::string label_value(std::string_view text);

/// Counts and times in the text format of Prometheus, version 0.0.4.
std::string metrics_text(const std::vector<std::shared_ptr<Model>>& models, const TrafficCounts& traffic);

}  // namespace mangrove::serve
