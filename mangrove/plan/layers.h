#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::plan {

/// An operator of a network as the planner sees it, or several operators that are never separated.
struct Layer {
  std::string name;
  Bytes parameters = 0;
  /// For one micro-batch. Inference: the values that are needed at the same time while the layer runs. Training: the
  /// values that it keeps for its backward pass.
  Bytes activations = 0;
  Bytes buffers = 0;  // further memory, whatever the number of micro-batches under way
};

/// A value: made by one layer, read by others.
struct Flow {
  std::optional<std::size_t> from;  // nothing: it is an input of the network
  std::vector<std::size_t> to;
  bool is_result = false;  // a result of the network
  Bytes bytes = 0;         // for one micro-batch
};

/// A network as the planner sees it: a directed acyclic graph of layers. Each layer stands behind those that it reads
/// from.
struct Layers {
  std::string name;
  std::int64_t batch = 1;  // samples of a micro-batch
  std::vector<Layer> layers;
  std::vector<Flow> flows;
};

/// The most bytes of a layer or a value. Sums of many of them stay far below the largest number of Bytes.
constexpr Bytes kMostBytes = 1'000'000'000'000;
/// Whether a plan can be made with this number of bytes.
inline bool is_size(Bytes bytes) {
  return bytes >= 0 && bytes <= kMostBytes;
}

/// errors: invalid_argument (no layers; a flow to a layer that does not exist or does not stand behind the maker; bytes
/// that are negative or above kMostBytes).
Status check(const Layers& network);

/// Sets each layer's activations to the bytes of all flows that are needed while it runs, in the order of the layers.
void measure_living(Layers& network);

}  // namespace mangrove::plan
