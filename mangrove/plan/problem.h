#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/plan/layers.h"

namespace mangrove::plan {

/// One device that layers can be placed on. It computes, receives and sends at the same time.
struct Device {
  std::string name;
  std::vector<Seconds> seconds = {};  // of each layer, for one micro-batch; training: forward and backward
  Bytes memory = 0;                   // that its process may come to; 0: not limited
  Bytes reserved = 0;                 // that its process takes before it holds a layer
  BytesPerSecond rate = 0;            // of its link, in each direction; 0: not limited
  Seconds delay = 0;                  // of its link, one way
  BytesPerSecond handling = 0;  // at which its processor packs and unpacks what crosses a cut; 0: that takes no time
  double watts = 0;             // that computing adds to what it takes anyway
  Seconds overhead = 0;         // of its processor for a micro-batch, whatever it computes: messages
};

/// What a way between two devices does besides their links.
struct Way {
  BytesPerSecond rate = 0;  // in each direction; 0: not limited
  Seconds delay = 0;        // one way
  bool operator==(const Way&) const = default;
};

/// How micro-batches go through a pipeline that trains, and what its stages hold meanwhile.
struct TrainingSchedule {
  double copies = 3;            // of its parameters that a device holds: weights, gradients, momentum
  double messages = 2;          // copies of what crosses its cuts
  std::int64_t ahead = 0;       // micro-batches that a stage takes in beyond the fewest, for each device behind it
  std::int64_t at_once = 0;     // those that go forward before the first one comes back; 0: one forward, one backward
  bool recomputes = false;      // of micro-batches under way a stage keeps its inputs alone, but for one
  std::int64_t per_update = 0;  // after which replicas agree on their parameters; 0: after one on each of them
};

enum class Objective { throughput, latency, energy };

/// What to plan: a pipeline of stages, each of which has some of the layers and one device, or several that take
/// micro-batches in turn.
struct Problem {
  Layers network;
  std::vector<Device> devices;
  std::map<std::pair<std::size_t, std::size_t>, Way> ways = {};  // between two devices, the lower first
  Objective objective = Objective::throughput;
  bool training = false;  // values cross a cut forth, gradients back; replicas agree on their parameters
  TrainingSchedule schedule = {};
  std::size_t most_replicas = 0;  // devices of one stage; 0: any number

  Way way(std::size_t a, std::size_t b) const {
    const auto found = ways.find(std::minmax(a, b));
    return found == ways.end() ? Way{} : found->second;
  }
};

/// errors: invalid_argument (those of check(Layers); no device; a device without a time for each layer; figures that
/// are negative, absurd or not finite; energy without watts; names the device; training for anything but throughput).
Status check(const Problem& problem);

}  // namespace mangrove::plan
