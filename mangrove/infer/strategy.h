#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// One way of classifying with several devices: one file, one row of the table in strategy.cc.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::string_view on_loss;  // what happens when a rank is lost, one line
  /// Plays rank context.endpoint.rank() to the end of the job. On rank 0 it reports "progress", "event" and, at the
  /// end, "result" (docs/json.md lists the keys).
  Status (*run)(const InferJob& job, net::RoleContext& context);
};

std::span<const Strategy> strategies();

/// Runs the job's strategy. errors: not_found (unknown strategy, with the nearest known one), invalid_argument (a job
/// with values that make no sense, e.g. more stages than operators: names the key), those of the strategy.
Status run_inference(const InferJob& job, net::RoleContext& context);

}  // namespace mangrove::infer
