#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"
#include "mangrove/job/strategy_row.h"

namespace mangrove::infer {

/// The networks of a job.
enum class Networks {
  one,         // one network for all nodes
  members,     // several networks for the same samples, each on some nodes
  of_tiers,    // the networks that a tier file names
  with_views,  // one network over several devices, each with a view of its own
};

/// Code that treats strategies differently asks for one of these traits, never for a name.
struct StrategyTraits {
  Networks networks = Networks::one;
  bool takes_requests = false;  // takes frames as they come, each with a deadline; others take only a data set
  bool checks_answers = false;  // compares answers of nodes, to find those that answer wrongly (docs/trust.md)

  /// Calls trait(name, whether `self` has it) for each trait above. People and programs see these names
  /// (`mangrove strategies`).
  static void traits(const StrategyTraits& self, auto&& trait) {
    trait("one_network", self.networks == Networks::one);
    trait("several_networks", self.networks == Networks::members);
    trait("network_for_each_tier", self.networks == Networks::of_tiers);
    trait("network_over_views", self.networks == Networks::with_views);
    trait("takes_requests", self.takes_requests);
    trait("checks_answers", self.checks_answers);
  }
};

/// A row of the table: one way of classifying with several devices. Its function is in the strategy's file, and is
/// named in rows.h.
struct Strategy : job::StrategyRow, StrategyTraits {
  /// Plays rank context.endpoint.rank() to the end of the job. On rank 0 it reports "progress", "event" and, at the
  /// end, "result" (docs/json.md lists the keys).
  Status (*run)(const InferJob& job, job::RoleContext& context) = nullptr;
};

/// The table.
std::span<const Strategy> strategies();

/// errors: not_found (an unknown strategy; names the nearest known one).
Result<const Strategy*> find_strategy(std::string_view name);
/// The names of those that have a trait.
std::vector<std::string> strategies_with(bool Strategy::*trait);
/// The names of those that have such networks.
std::vector<std::string> strategies_with(Networks networks);

}  // namespace mangrove::infer
