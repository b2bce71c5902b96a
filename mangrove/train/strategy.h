#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// One way of training a network on several devices: one file, one row of the table in strategy.cc.
struct Strategy {
  std::string_view name;
  std::string_view summary;  // one line, with the source paper
  std::string_view on_loss;  // what happens when a rank is lost, one line
  bool has_own_data;         // its workers may have samples of their own: see DataSplit
  /// Plays rank context.endpoint.rank() to the end of the job. On rank 0 it reports "progress", "event", "checkpoint"
  /// and, at the end, "result" (docs/json.md lists the keys), with the trained model attached. errors: cancelled
  /// (stopped early, after a checkpoint), unavailable (no worker is left), those of data and engine.
  Status (*run)(const TrainJob& job, net::RoleContext& context);
};

std::span<const Strategy> strategies();

/// Runs the job's strategy. errors: not_found (unknown strategy, with the nearest known one), invalid_argument (a job
/// with values that make no sense: names the key), those of the strategy.
Status run_training(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
