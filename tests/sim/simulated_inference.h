#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/infer/inference_job.h"

#include "mangrove/sim/simulation.h"

namespace mangrove::sim {

/// An inference job on a small world for it, in a form that takes a way of its own when something is lost. A strategy
/// with one network whose code none of these jobs runs has a case under its own name: it joins all tests of inference
/// by itself.
struct InferenceCase {
  std::string name;
  std::function<infer::InferJob()> job;
  World (*world)();
  /// Every image has the answers that it must have, once each, and such as the network gives on one device.
  void (*expect_right)(const RoleWorld::Outcome& outcome, const std::string& where);
  /// Nobody else could do what these nodes, which were lost, have to do.
  bool (*is_hopeless)(const std::vector<std::string>& lost);
};
const std::vector<InferenceCase>& every_inference();

struct SimulatedInference {
  RoleWorld::Outcome outcome;  // leader, reports
  std::string log;
  Seconds seconds = 0;  // virtual, until the job has ended

  /// Nodes that were lost, in this order.
  std::vector<std::string> lost() const;
};
SimulatedInference simulated(const infer::InferJob& infer, const World& world, std::vector<Fault> faults = {},
                             bool is_modelled = false);

/// Slow devices of these names, on slow links, and a fast coordinator.
World slow_world(const std::vector<std::string>& names);
/// So many of them, "board-1" ...
World slow_boards(std::size_t count);

}  // namespace mangrove::sim
