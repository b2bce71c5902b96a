#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/cli/sources/model_source.h"
#include "mangrove/plan/problem.h"
#include "mangrove/plan/tiles.h"

namespace mangrove::cli {

/// Where `mangrove plan` finds what it plans.
struct PlanSource {
  std::string model, profile, devices;  // files; the model may be of the zoo
  ModelSettings settings;
  std::int64_t batch = 0;  // samples of a micro-batch; 0: as many as in the profile
  bool train = false;

  /// The profile is one of PipeDream's, which has the network too.
  bool is_pipedream() const;
};

/// A network, and what was measured of it on each device.
struct PlanNetwork {
  plan::Problem problem;                               // for stages; the caller sets the objective
  std::string note;                                    // what must be said about its times; lines
  std::optional<Graph> graph;                          // as it is planned; nothing: a profile of PipeDream's
  std::vector<std::vector<Seconds>> operator_seconds;  // of each device, of each node of the graph
  std::vector<Bytes> operator_weights;                 // the largest on any device

  /// The problem of planning tiles on these devices, which stand in it in the order of their speed, the fastest first.
  /// The key `handling` of the device file gives the processor's time for a byte. A message takes no further time. This
  /// object must outlive it. REQUIRES: there is a graph.
  plan::TileProblem tile_problem() const;
};

/// errors: invalid_argument (a device without a profile; those of the files).
Result<PlanNetwork> load_plan_network(const PlanSource& source);

}  // namespace mangrove::cli
