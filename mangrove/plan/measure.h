#pragma once

#include "mangrove/base/clock.h"
#include "mangrove/graph/graph.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

struct MeasureOptions {
  std::int64_t batch = 1;  // samples of a micro-batch
  int threads = 1;
  std::string backend = {};  // "": the fastest
  bool training = false;     // backward too
  Seconds seconds = 5;       // about so long; at least kFewestRuns runs
};

constexpr int kFewestRuns = 5;

/// How much longer than an Execution measured an operator takes here: of one thread it measures computing alone, which
/// a CPU quota stretches; of several the pauses that it makes are in the times.
double operator_stretch(int threads);

/// Runs the graph on random samples and takes each operator's median time. What is fused into an operator counts with
/// it, and has no time of its own. errors: those of Program::compile and Execution::create.
Result<Profile> measure_profile(const Graph& graph, const MeasureOptions& options, const Clock& clock);

}  // namespace mangrove::plan
