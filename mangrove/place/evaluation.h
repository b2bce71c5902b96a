#pragma once

#include <string>
#include <vector>

#include "mangrove/place/objective.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// A constraint that a placement does not keep.
struct Violation {
  std::string what;  // a sentence: "memory of pi-1: 1.2 GB, above 1 GB"
  double by = 0;     // share of the limit that is above it
};

struct ServiceMeasures {
  Seconds mean_latency = 0, worst_latency = 0;
  double availability = 1;  // probability that all devices of one copy are up, if they fail independently
};

struct DeviceLoad {
  bool is_used = false;
  double cores = 0, accelerator = 0;            // shares of their time
  double peak_cores = 0, peak_accelerator = 0;  // the same with all services at their peaks
  Bytes memory = 0;
};

struct Evaluation {
  std::vector<Violation> violations;
  Measures measures;
  std::vector<ServiceMeasures> services;
  std::vector<DeviceLoad> devices;
  std::vector<BytesPerSecond> links;       // that they carry
  std::vector<BytesPerSecond> peak_links;  // the same with all services at their peaks

  bool is_feasible() const { return violations.empty(); }
};

/// What a placement comes to, by this model:
///
/// - An execution takes its operations by the speed of its device, or the time that was measured there. Nothing waits
///   for anything else: limits of utilisation keep queues short, and their time is not counted.
/// - An item takes the delays of the links on its way, and its bytes by the rate of each. Between tasks on one device
///   it takes no time.
/// - The worst latency of a task is its execution's time, behind the latest of its inputs. The mean latency is the same
///   for tasks that wait for all inputs; behind those that wait for any, it is the mean over inputs by their rates.
///   A service's worst latency is that of its latest sink. Its mean latency is the mean over sinks by their rates. Of
///   several copies the latest counts: the deadline holds whichever devices fail.
/// - Worst latencies count the longest delays and the lowest rates of links, mean latencies the usual ones.
/// - Cores, accelerators, memory and links may be used up to their limits in the long run, with all services at their
///   peaks and all links at their lowest rates. Cost and energy are those of the usual rates.
/// - A device costs its price and its idle power once it is used at all, and power by its load.
///
/// placement: a device for each part of the problem.
Evaluation evaluate(const Problem& problem, const Placement& placement);

}  // namespace mangrove::place
