#pragma once

#include <algorithm>
#include <cstddef>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// What one device of a stage has to do for one micro-batch. These formulas are what a plan is priced and searched by.
struct StageLoad {
  Seconds seconds = 0;  // of its layers
  Bytes parameters = 0;
  Bytes activations = 0;  // inference: the largest of its layers'; training: their sum
  Bytes received = 0;     // at the cut before it
  Bytes sent = 0;         // at the cut behind it
  std::size_t replicas = 1;
  std::size_t devices_from_here = 1;  // its own and those of the stages behind it
};

/// Values cross a cut once; in training their gradients come back.
inline double crossings(bool training) {
  return training ? 2 : 1;
}

/// Computing, packing and unpacking of one micro-batch, and what it costs at all.
inline Seconds busy_seconds(const StageLoad& load, const Device& device, bool training) {
  const Seconds seconds = load.seconds + device.overhead;
  if (device.handling == 0) return seconds;
  return seconds + crossings(training) * static_cast<double>(load.received + load.sent) / device.handling;
}

/// Between two micro-batches that one device of the stage is done with: computing, receiving and sending overlap. In
/// training, replicas agree on their parameters after each round of micro-batches, by an all-reduce, while they wait.
/// source: Narayanan et al., PipeDream, SOSP 2019, section 3.1, whose planner counts the same bytes.
inline Seconds occupied_seconds(const StageLoad& load, const Device& device, bool training) {
  Seconds computing = busy_seconds(load, device, training);
  if (device.rate == 0) return computing;
  if (training) {
    const auto replicas = static_cast<double>(load.replicas);
    computing += 4 * (replicas - 1) / replicas * static_cast<double>(load.parameters) / device.rate;
  }
  return std::max(computing,
                  crossings(training) * static_cast<double>(std::max(load.received, load.sent)) / device.rate);
}

/// Of messages: the one that is received or sent, and the next or last one.
inline Bytes message_memory(Bytes received, Bytes sent) {
  return 2 * (received + sent);
}

/// What the process comes to. Training (synchronous, 1F1B): weights, gradients and momentum, and the activations of the
/// micro-batches that are on their way through this stage and those behind it.
inline Bytes memory_use(const StageLoad& load, const Device& device, bool training) {
  const Bytes messages = message_memory(load.received, load.sent);
  if (!training) return device.reserved + load.parameters + load.activations + messages;
  const auto in_flight = static_cast<Bytes>((load.devices_from_here + load.replicas - 1) / load.replicas);
  return device.reserved + 3 * load.parameters + in_flight * load.activations + messages;
}

}  // namespace mangrove::plan
