#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::plan {

/// An operator of a network, or several that are never parted, as the planner sees it.
struct Layer {
  std::string name;
  Bytes parameters = 0;
  /// Of one micro-batch. Inference: of all values that are alive while it runs; training: of what it keeps for its
  /// backward pass.
  Bytes activations = 0;
  Bytes buffers = 0;  // that its process holds besides, however many micro-batches are under way
};

/// A value: made by one layer, read by others.
struct Flow {
  std::optional<std::size_t> from;  // nothing: it is an input of the network
  std::vector<std::size_t> to;
  bool is_result = false;  // wanted at the end of the pipeline
  Bytes bytes = 0;         // of one micro-batch
};

/// A network whatever it consists of: a directed acyclic graph of layers, each behind those that it reads from.
struct Layers {
  std::string name;
  std::int64_t batch = 1;  // samples of a micro-batch
  std::vector<Layer> layers;
  std::vector<Flow> flows;
};

/// Of a layer or a value: sums of many stay far below what Bytes holds.
constexpr Bytes kMostBytes = 1'000'000'000'000;
/// Whether it can be planned with.
inline bool is_size(Bytes bytes) {
  return bytes >= 0 && bytes <= kMostBytes;
}

/// errors: invalid_argument (no layers; a flow to a layer that is not there or not behind its maker; bytes that are
/// negative or above kMostBytes).
Status check(const Layers& network);

/// Sets each layer's activations to the bytes of all flows that are alive while it runs, in the order of the layers.
void measure_living(Layers& network);

}  // namespace mangrove::plan
