#pragma once

#include <span>
#include <string>
#include <vector>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// The layers and devices of a stage.
struct Part {
  std::vector<std::size_t> layers;   // ascending
  std::vector<std::size_t> devices;  // at least one
};

/// A stage of a plan, with its predicted figures for one micro-batch.
struct Stage : Part {
  std::vector<Seconds> busy_each = {};  // time for computing and packing, on each of its devices
  Seconds busy = 0;                     // the same on the slowest of them
  Seconds period = 0;                   // time between two micro-batches that leave it, if it never waits
  Bytes received = 0, sent = 0;
  Seconds transfer = 0;    // time of its values to the next stage, on the slowest way
  Bytes memory = 0;        // memory of the process on the device that needs the most
  double utilisation = 0;  // busy share of its devices, in the pipeline
};

/// Stages in the order in which micro-batches go through them.
struct Plan {
  std::vector<Stage> stages;
  Seconds period = 0;         // time between two micro-batches that leave the full pipeline
  Seconds latency = 0;        // time of one micro-batch that never waits behind another
  double joules = 0;          // energy for computing one micro-batch
  std::size_t in_flight = 1;  // the fewest micro-batches that keep the slowest stage busy (Little's law)
  std::string limiting;       // the cause of the period: "stage 2", "the way from stage 1 to stage 2"
  std::string caveat;         // why a better plan may exist; empty: there is none

  std::size_t devices() const;  // devices in use
};

/// The predicted figures of a given plan. The parts must have every layer once, each behind those that it reads from,
/// and every device at most once. A stage receives and sends on all values that cross its cuts. So a value that is used
/// behind the next stage travels through that stage, and counts on both links. The first stage has its input already,
/// and answers are small.
/// errors: those of check(Problem); invalid_argument (the parts are not a plan); resource_exhausted (a device's memory
/// is too small; says how much it needs).
Result<Plan> price(const Problem& problem, const std::vector<Part>& parts);

/// The time between two micro-batches that leave a stage with several devices. of_devices: each device's time for one
/// micro-batch. The devices take micro-batches in proportion to their speed. 0 if one of them takes no time.
Seconds shared_period(std::span<const Seconds> of_devices);

/// The time of one micro-batch's values from one device to another; in training, with the gradients back. The slowest
/// of the two links and the way between them gives the rate, and their delays are added.
Seconds transfer_seconds(const Problem& problem, std::size_t from, std::size_t to, Bytes bytes);

}  // namespace mangrove::plan
