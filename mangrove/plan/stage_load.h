#pragma once

#include <algorithm>
#include <cstddef>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// The work of one device of a stage for one micro-batch. The formulas below give the figures of a plan, and the search
/// uses them too.
struct StageLoad {
  Seconds seconds = 0;  // time of its layers
  Bytes parameters = 0;
  Bytes activations = 0;  // inference: the largest of its layers'; training: their sum
  Bytes buffers = 0;
  Bytes received = 0;  // values at the cut before it
  Bytes sent = 0;      // values at the cut behind it
  std::size_t replicas = 1;
  std::size_t devices_from_here = 1;  // its own and those of the stages behind it
};

/// How often values cross a cut: once, and in training their gradients come back.
inline double crossings(bool training) {
  return training ? 2 : 1;
}

/// The time for computing, packing and unpacking one micro-batch, with the fixed overhead of a micro-batch.
inline Seconds busy_seconds(const StageLoad& load, const Device& device, bool training) {
  const Seconds seconds = load.seconds + device.overhead;
  if (device.handling == 0) return seconds;
  return seconds + crossings(training) * static_cast<double>(load.received + load.sent) / device.handling;
}

/// The time between two micro-batches that one device of the stage finishes. Computing, receiving and sending overlap.
/// In training, replicas agree on their parameters after each round of micro-batches, by an all-reduce, while they
/// wait. source: Narayanan et al., PipeDream, SOSP 2019, section 3.1, whose planner counts the same bytes. If replicas
/// agree once for each update, each micro-batch bears its part of the bytes that a ring sends in each direction.
inline Seconds occupied_seconds(const StageLoad& load, const Device& device, const Problem& problem) {
  Seconds computing = busy_seconds(load, device, problem.training);
  if (device.rate == 0) return computing;
  if (problem.training) {
    const auto replicas = static_cast<double>(load.replicas),
               per_update = static_cast<double>(problem.schedule.per_update);
    const double times = per_update == 0 ? 4 : 2 * replicas / std::max(replicas, per_update);
    computing += times * (replicas - 1) / replicas * static_cast<double>(load.parameters) / device.rate;
  }
  return std::max(computing,
                  crossings(problem.training) * static_cast<double>(std::max(load.received, load.sent)) / device.rate);
}

/// Memory of messages. Inference: the message that is being received or sent, and the next or last one.
inline double message_memory(Bytes received, Bytes sent, const Problem& problem) {
  return (problem.training ? problem.schedule.messages : 2) * static_cast<double>(received + sent);
}

/// Micro-batches between their forward and their backward pass on one device of the stage.
inline Bytes in_flight(const StageLoad& load, const TrainingSchedule& schedule) {
  const auto replicas = static_cast<Bytes>(load.replicas);
  const auto behind = static_cast<Bytes>(load.devices_from_here) - replicas;
  const Bytes of_all = schedule.at_once > 0 ? schedule.at_once : replicas + behind * (1 + schedule.ahead);
  return (of_all + replicas - 1) / replicas;
}

/// The memory of the process. Training: weights, gradients and momentum, and the activations (or inputs) of the
/// micro-batches that are on their way through this stage and those behind it.
inline Bytes memory_use(const StageLoad& load, const Device& device, const Problem& problem) {
  constexpr double kNobodyHas = 9e18;  // still a number of Bytes
  double bytes =
      static_cast<double>(device.reserved + load.buffers) + message_memory(load.received, load.sent, problem);
  if (!problem.training) {
    bytes += static_cast<double>(load.parameters + load.activations);
  } else {
    const auto flights = static_cast<double>(in_flight(load, problem.schedule));
    const auto each = static_cast<double>(load.activations);
    const bool recomputes = problem.schedule.recomputes && flights > 1;
    bytes += problem.schedule.copies * static_cast<double>(load.parameters) +
             (recomputes ? each + flights * static_cast<double>(load.received) : flights * each);
  }
  return static_cast<Bytes>(std::min(bytes, kNobodyHas));
}

}  // namespace mangrove::plan
