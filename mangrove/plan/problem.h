#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/plan/layers.h"

namespace mangrove::plan {

/// A device that layers can be placed on. It computes, receives and sends at the same time.
struct Device {
  std::string name;
  std::vector<Seconds> seconds = {};  // time of each layer for one micro-batch; training: forward and backward
  Bytes memory = 0;                   // the most memory of its process; 0: not limited
  Bytes reserved = 0;                 // memory of its process without any layer
  BytesPerSecond rate = 0;            // rate of its link in each direction; 0: not limited
  Seconds delay = 0;                  // one-way delay of its link
  BytesPerSecond handling = 0;  // rate at which its processor packs and unpacks values at a cut; 0: this takes no time
  double watts = 0;             // power that computing adds
  Seconds overhead = 0;         // processor time for the messages of a micro-batch, whatever it computes
};

/// The limits between two devices in addition to those of their links.
struct Way {
  BytesPerSecond rate = 0;  // in each direction; 0: not limited
  Seconds delay = 0;        // one way
  bool operator==(const Way&) const = default;
};

/// How micro-batches go through a pipeline that trains, and what its stages keep meanwhile.
struct TrainingSchedule {
  double copies = 3;            // copies of its parameters that a device has: weights, gradients, momentum
  double messages = 2;          // copies of the values that cross its cuts
  std::int64_t ahead = 0;       // further micro-batches that a stage takes in, for each device behind it
  std::int64_t at_once = 0;     // micro-batches that go forward before the first comes back; 0: one forward, one back
  bool recomputes = false;      // a stage keeps only the inputs of micro-batches under way, except for one of them
  std::int64_t per_update = 0;  // micro-batches between two agreements of replicas; 0: one on each replica
};

enum class Objective { throughput, latency, energy };

/// What to plan: a pipeline of stages. Each stage has some of the layers, and one device or several that take
/// micro-batches in turn.
struct Problem {
  Layers network;
  std::vector<Device> devices;
  std::map<std::pair<std::size_t, std::size_t>, Way> ways = {};  // between two devices, the lower first
  Objective objective = Objective::throughput;
  bool training = false;  // gradients of the values come back, and replicas agree on their parameters
  TrainingSchedule schedule = {};
  std::size_t most_replicas = 0;  // the most devices of one stage; 0: any number

  Way way(std::size_t a, std::size_t b) const {
    const auto found = ways.find(std::minmax(a, b));
    return found == ways.end() ? Way{} : found->second;
  }
};

/// errors: invalid_argument (those of check(Layers); no device; a device without a time for each layer; figures that
/// are negative, absurd or not finite; energy without watts; names the device; training for anything but throughput).
Status check(const Problem& problem);

}  // namespace mangrove::plan
