#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/job/strategy_row.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

struct PipelineSchedule;

/// Code that treats strategies differently asks for one of these traits, never for a name.
struct StrategyTraits {
  std::string_view keys_of = {};  // another strategy, whose keys this one has too

  bool has_server = false;                // workers send updates to rank 0, and values come from there
  bool sends_gradients = false;           // an update is the gradient of one step, not the change of several steps
  bool sums_gradients = false;            // workers add up their gradients among themselves
  bool divides_layers = false;            // each worker has a part of the weights of some layers
  bool collects_vectors = false;          // one rank sees the single updates of several workers, see Aggregation
  bool steps_locally = false;             // workers make steps of their own between averages
  bool averages_with_neighbours = false;  // workers have values of their own, and average them with neighbours
  bool has_own_data = false;              // workers may have samples of their own: see DataSplit
  bool takes_shared_samples = false;      // these workers may also learn from some samples of all: see SharedSamples
  int vectors_held = 0;                   // vectors as long as the parameters that a worker has besides its program
  const PipelineSchedule* pipeline = nullptr;  // set: each worker has a part of the network, and sees all samples

  /// Calls trait(name, whether `self` has it) for each trait above that a strategy has or has not. People and programs
  /// see these names (`mangrove strategies`).
  static void traits(const StrategyTraits& self, auto&& trait) {
    trait("has_server", self.has_server);
    trait("sends_gradients", self.sends_gradients);
    trait("sums_gradients", self.sums_gradients);
    trait("divides_layers", self.divides_layers);
    trait("collects_vectors", self.collects_vectors);
    trait("steps_locally", self.steps_locally);
    trait("averages_with_neighbours", self.averages_with_neighbours);
    trait("has_own_data", self.has_own_data);
    trait("takes_shared_samples", self.takes_shared_samples);
    trait("is_pipeline", self.pipeline != nullptr);
  }
};

/// A row of the table: one way of training a network on several devices. Its function is in the strategy's file, and is
/// named in rows.h.
struct Strategy : job::StrategyRow, StrategyTraits {
  /// Plays rank context.endpoint.rank() to the end of the job. On rank 0 it reports "progress", "event", "checkpoint"
  /// and, at the end, "result" (docs/json.md lists the keys), with the trained model attached. errors: cancelled
  /// (stopped early, after a checkpoint), unavailable (no worker is left), those of data and engine.
  Status (*run)(const TrainJob& job, job::RoleContext& context) = nullptr;
};

/// The table.
std::span<const Strategy> strategies();

/// errors: not_found (an unknown strategy; names the nearest known one).
Result<const Strategy*> find_strategy(std::string_view name);

/// The row of the job's strategy. An unknown strategy has a row without traits: check_job() refuses it.
const Strategy& strategy_of(const TrainJob& job);

/// The names of all strategies with this trait, with commas between, for messages.
std::string strategies_with(bool Strategy::*trait);

}  // namespace mangrove::train
