#pragma once

#include <span>
#include <string>
#include <vector>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// Which layers and devices a stage has.
struct Part {
  std::vector<std::size_t> layers;   // ascending
  std::vector<std::size_t> devices;  // at least one
};

/// A stage of a plan, and what it is predicted to take for one micro-batch.
struct Stage : Part {
  std::vector<Seconds> busy_each = {};  // computing and packing, of each of its devices
  Seconds busy = 0;                     // the same, of the slowest of them
  Seconds period = 0;                   // between two micro-batches that leave it when it never waits
  Bytes received = 0, sent = 0;
  Seconds transfer = 0;    // of what it sends, to the next stage, on the slowest way
  Bytes memory = 0;        // of the process on the device that needs the most
  double utilisation = 0;  // busy share of its devices, in the pipeline
};

/// Stages in the order in which micro-batches go through them.
struct Plan {
  std::vector<Stage> stages;
  Seconds period = 0;         // between two micro-batches that leave the full pipeline
  Seconds latency = 0;        // of one micro-batch that nothing waits in front of
  double joules = 0;          // that computing one micro-batch takes
  std::size_t in_flight = 1;  // the fewest micro-batches that keep the slowest stage busy (Little's law)
  std::string limiting;       // what the period is of: "stage 2", "the way from stage 1 to stage 2"
  std::string caveat;         // empty: nothing is better; else why something might be

  std::size_t devices() const;  // in use
};

/// What a given plan takes: the parts must have every layer once, each behind those that it reads from, and every
/// device at most once. A stage receives and sends on everything that crosses its cuts: a value that skips over a stage
/// travels through it, and counts on both links. The first stage reads its input where it is; answers are small.
/// errors: those of check(Problem); invalid_argument (parts that are not a plan); resource_exhausted (a device's memory
/// is too small; says how much it needs).
Result<Plan> price(const Problem& problem, const std::vector<Part>& parts);

/// Between two micro-batches that leave a stage whose devices take each so long for one, and take them in turn, in
/// proportion to their speed. 0 where one of them takes no time.
Seconds shared_period(std::span<const Seconds> of_devices);

/// One micro-batch's values from one device to another (in training also the gradients back): the slowest of both links
/// and the way between them, and their delays.
Seconds transfer_seconds(const Problem& problem, std::size_t from, std::size_t to, Bytes bytes);

}  // namespace mangrove::plan
