#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/train/data_parallel/layer_pair.h"

namespace mangrove::train {

/// How the workers of a step share the layers of a network. They form groups of `ways` workers. In each group the
/// workers divide the weights of one pair of layers; every worker has all other parameters.
struct Division {
  std::size_t pair = 0;  // position in layer_pairs()
  std::size_t ways = 1;  // workers in a group; 1: plain data parallelism

  bool operator==(const Division&) const = default;
};

/// The floats that one worker sends in a step, where `workers` workers have `batch` samples each. P: workers, G: ways,
/// R = P/G: groups, c and d: elements of the common and the divided parameters, b: batch.
///
///   2 c (P-1)/P + 2 (d/G) (R-1)/R    sums of gradients along rings: over all workers, and over one of each group
///   c/P + (d/G)/R                    the worker's share of the sums, to the leader
///   2 (G-1) b (features + outputs)   to the others of its group: features, parts of outputs, and gradients of both;
///                                    none of the features where no parameters are before them
double floats_sent(const Graph& graph, const LayerPair& pair, std::size_t ways, std::size_t workers,
                   std::int64_t batch);

/// The division with which a worker sends the fewest floats. wanted: the workers in a group; 0: any number. A group has
/// as many workers as wanted, or as many fewer as the number of workers can be divided by. Nothing: the network has no
/// pair of layers.
std::optional<Division> best_division(const Graph& graph, const std::vector<LayerPair>& pairs, std::size_t workers,
                                      std::int64_t batch, std::size_t wanted);

}  // namespace mangrove::train
