#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::train {

/// Two fully connected layers (Gemm), one behind the other, with only activations or dropout between them. Ranks can
/// divide their weights: each has a part of the values between the two layers (the hidden values), the rows of the
/// first layer's weights that make them, and the columns of the second layer's weights that read them. Then a rank
/// needs nothing of the others between the two layers. What the ranks' parts of the second layer give adds up to its
/// output.
/// source: Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014 (which layers); Shoeybi et
/// al., Megatron-LM, 2019, section 3 (pairs of rows and columns).
struct LayerPair {
  std::string first, second;          // names of the nodes
  std::size_t begin = 0, end = 0;     // operators [begin, end) of the graph: both layers and what is between them
  std::int64_t features = 0;          // floats of a sample in front of the pair
  std::int64_t hidden = 0;            // floats of a sample between the layers: they are divided
  std::int64_t outputs = 0;           // floats of a sample behind the pair
  std::int64_t divided_elements = 0;  // of the parameters that are divided: all of the pair but the second one's bias
  std::int64_t elements_before = 0;   // of the parameters of the operators before the pair

  bool operator==(const LayerPair&) const = default;
};

/// The pairs of the network, in its order. They may overlap: the second layer of one may be the first one of another.
/// A pair is complete in itself: nothing else uses its weights or its hidden values, and one value, [N, features], is
/// all that the operators before it (or the network's inputs) give to it and to those behind. Behind it there are
/// operators, or the second layer has a bias. Operators before it share no
/// parameters and no running statistics with those behind it.
std::vector<LayerPair> layer_pairs(const Graph& graph);

}  // namespace mangrove::train
