#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Which networks a job has.
enum class Networks {
  one,         // for all nodes
  members,     // several for the same samples, each on some nodes
  of_tiers,    // those that a tier file names
  with_views,  // one that lies over devices with a view each
};

/// One way of classifying with several devices: its file, and one row of the table in strategy.cc. Code that treats
/// strategies differently asks for one of the traits below, never for a name.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::string_view on_loss;  // what happens when a rank is lost, one line

  Networks networks = Networks::one;
  bool takes_requests = false;  // frames as they come, each with a deadline; the others only take a data set

  /// Plays rank context.endpoint.rank() to the end of the job. On rank 0 it reports "progress", "event" and, at the
  /// end, "result" (docs/json.md lists the keys).
  Status (*run)(const InferJob& job, job::RoleContext& context) = nullptr;
};

/// The table.
std::span<const Strategy> strategies();

/// errors: not_found (an unknown strategy; names the nearest known one).
Result<const Strategy*> find_strategy(std::string_view name);

}  // namespace mangrove::infer
