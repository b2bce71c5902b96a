#pragma once

#include <functional>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/graph/graph.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

struct MeasureOptions {
  std::int64_t batch = 1;  // samples of a micro-batch
  int threads = 1;
  std::string backend = {};  // "": the fastest
  bool training = false;     // also measure backward passes
  Seconds seconds = 5;       // approximate duration; there are at least kFewestRuns runs
  double slowdown = 1;       // of one thread by a CPU quota, >= 1: 5 where it is left a fifth of its time
  std::function<Bytes()> resident = [] { return Bytes{0}; };  // of the process, now; 0: not known
};

constexpr int kFewestRuns = 5;

/// The factor between an operator's real time and the time that an Execution measures. With one thread the Execution
/// measures only computing, which a CPU quota stretches. With several threads the pauses of a quota are already part of
/// the times. slowdown: as in MeasureOptions.
double operator_stretch(int threads, double slowdown);

/// Runs the graph on random samples and takes the median time of each operator. An operator that is fused into another
/// one has no time of its own; the other one's time includes it. errors: those of Program::compile and
/// Execution::create.
Result<Profile> measure_profile(const Graph& graph, const MeasureOptions& options, const Clock& clock);

}  // namespace mangrove::plan
