#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// A device that can compute tiles, by what it was measured to need. It computes one tile at a time.
struct TileDevice {
  std::string name;
  std::vector<Seconds> seconds = {};  // of each operator of the graph, for all of its output, for one micro-batch
  Bytes memory = 0;                   // the most memory of its process; 0: not limited
  Bytes reserved = 0;                 // memory of its process without any operator
  BytesPerSecond rate = 0;            // rate of its link in each direction; 0: not limited
  Seconds delay = 0;                  // one-way delay of its link
  Seconds byte_seconds = 0;           // processor time for each byte that it sends or receives
  Seconds message_seconds = 0;        // processor time for each message that it sends or receives
};

/// What to plan: how micro-batches of a network go through blocks of tiles.
struct TileProblem {
  const Graph& graph;
  std::int64_t batch = 1;  // samples of a micro-batch
  std::vector<TileDevice> devices;
  std::map<std::pair<std::size_t, std::size_t>, Way> ways = {};  // between two devices, the lower first
  std::vector<Bytes> weights = {};  // of each operator, as its kernels have them; empty: as the graph has them
  /// Bytes on the way of so many f32 values.
  std::function<Bytes(std::int64_t elements)> encoded = [](std::int64_t elements) { return 4 * elements; };
  /// latency: of one micro-batch alone; throughput: micro-batches a second, of as many as there may be.
  Objective objective = Objective::latency;
};

/// errors: invalid_argument (no operator, sample or device; a device without a time for each operator; figures that are
/// negative, absurd or not finite: names the device; the objective energy).
Status check(const TileProblem& problem);

}  // namespace mangrove::plan
