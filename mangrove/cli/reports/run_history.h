#pragma once

#include <nlohmann/json_fwd.hpp>

#include "mangrove/cli/reports/event_log.h"
#include "mangrove/cli/reports/inference_history.h"
#include "mangrove/cli/reports/node_history.h"
#include "mangrove/cli/reports/training_history.h"

namespace mangrove::cli {

/// What a run did over time, from the lines of its metrics.jsonl, in bounded memory however many there are.
struct RunHistory {
  TrainingHistory training;
  InferenceHistory inference;
  NodeHistories nodes;
  EventLog events;

  void take(const nlohmann::json& line);
};

}  // namespace mangrove::cli
