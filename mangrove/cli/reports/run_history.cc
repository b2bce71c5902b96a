#include "mangrove/cli/reports/run_history.h"

#include <nlohmann/json.hpp>

namespace mangrove::cli {

void RunHistory::take(const nlohmann::json& line) {
  training.take(line);
  inference.take(line);
  nodes.take(line);
  events.take(line);
}

}  // namespace mangrove::cli
