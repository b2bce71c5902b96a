#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/train/data_parallel/layer_pair.h"

namespace mangrove::train {

/// What one of several ranks has of a network whose layer pair they divide: the whole network, but of the pair only
/// its part of the hidden values, with the parameters for them. The second layer's bias is added behind the pair,
/// by every rank.
class NetworkShard {
 public:
  /// Part `index` of `ways` nearly equal parts of the hidden values. graph: with or without its weights; the shard has
  /// them too, or not. REQUIRES: pair is one of layer_pairs(graph); index < ways <= pair.hidden.
  static NetworkShard of(const Graph& graph, const LayerPair& pair, std::size_t index, std::size_t ways);

  const Graph& graph() const { return graph_; }
  /// The pair's operators are [begin(), end()) of graph().
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }

  /// For each of graph().parameters(): whether the ranks have different parts of it.
  const std::vector<bool>& divided() const { return divided_; }
  /// Elements of the parameters that all ranks have, and of those that are divided.
  std::size_t common_elements() const { return common_elements_; }
  std::size_t divided_elements() const { return divided_elements_; }

  /// From the whole network's flat vector of parameters to the shard's. REQUIRES: spans of these lengths.
  void gather(std::span<const float> whole, std::span<float> shard) const;
  /// From floats of the shard to their places in the whole vector. The floats come in the order of the shard's
  /// parameters, only those that are (or are not) divided.
  void scatter_divided(std::span<const float> floats, std::span<float> whole) const;
  void scatter_common(std::span<const float> floats, std::span<float> whole) const;

 private:
  /// `rows` pieces of `count` consecutive elements: piece r is at first + r * stride of the whole vector. They follow
  /// each other in the shard's vector.
  struct Place {
    std::size_t first = 0, rows = 1, count = 0, stride = 0;
  };
  NetworkShard(const Graph& graph, Graph shard)
      : whole_parameters_(graph.parameter_elements()), graph_(std::move(shard)) {}
  void scatter(bool divided, std::span<const float> floats, std::span<float> whole) const;

  std::int64_t whole_parameters_ = 0;
  Graph graph_;
  std::size_t begin_ = 0, end_ = 0;
  std::vector<bool> divided_;
  std::vector<Place> places_;  // of each parameter of graph_
  std::size_t common_elements_ = 0, divided_elements_ = 0;
};

}  // namespace mangrove::train
