#pragma once

#include <string>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// errors: invalid_argument (a value that makes no sense: names the key, the value and what is allowed).
Status check_job(const TrainJob& job);

Seconds step_timeout(const TrainJob& job);
Seconds checkpoint_interval(const TrainJob& job);

/// All that must be the same for a run to go on exactly where another stopped, one "key=value" per line.
std::string settings_text(const TrainJob& job, const Graph& graph, std::int64_t train_samples);

/// errors: invalid_argument: names every key that differs, with both values.
Status check_same_settings(const std::string& checkpoint, const std::string& job);

}  // namespace mangrove::train
