#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"

namespace mangrove::compress {

/// Which channels of a network can only go together. A channel of a convolution's or a product's result is tied to
/// those of the same place in what it is added to, and in depthwise convolutions behind it; concatenations put channels
/// side by side. Operators that are not known to keep channels apart hold all channels that they touch.
class ChannelGroups {
 public:
  explicit ChannelGroups(const Graph& graph);

  /// Channels that go together.
  struct Group {
    std::vector<std::pair<std::string, std::int64_t>> filters;  // node, output channel
  };
  /// Layers whose channels are tied: each filter of these layers is in one of the groups.
  struct Family {
    std::string name;           // of its first layer
    std::vector<Group> groups;  // that may go
  };
  /// In node order.
  std::vector<Family> families() const;

  /// The network without these groups: weights, biases and statistics lose what belongs to their channels. In each
  /// family at least one group stays. What nodes behind a lost channel had weighted is missing, as if these weights
  /// were zero.
  /// errors: those of Graph::create.
  Result<Graph> without(const std::vector<Group>& groups) const;

 private:
  using Channel = std::size_t;            // its number in parents_
  using Channels = std::vector<Channel>;  // of a value, along its dimension 1; repeated behind Flatten

  Channel add(bool is_fixed);
  Channel root(Channel channel) const;
  void unite(Channel a, Channel b);
  void unite(const Channels& a, const Channels& b);
  void fix(const Channels& channels);
  Channels fresh(const std::string& value, bool is_fixed);
  const Channels& channels_of(const std::string& value);

  void visit(const Node& node);
  void visit_elementwise(const Node& node);
  bool visit_concat(const Node& node);
  bool visit_flatten(const Node& node);
  void visit_other(const Node& node);
  bool is_depthwise(const Node& node) const;
  bool is_layer(const Node& node) const;
  bool is_used_once(const std::string& initializer) const;

  /// Takes from a parameter, along a dimension, what belongs to lost channels.
  void slice(std::map<std::string, Tensor>& initializers, const std::string& name, std::size_t axis,
             const Channels& channels, const std::vector<bool>& is_lost) const;
  void slice_node(GraphParts& parts, Node& node, const std::vector<bool>& is_lost) const;

  const Graph& graph_;
  mutable std::vector<Channel> parents_;
  std::vector<bool> fixed_;  // by root
  std::map<std::string, Channels> channels_;
  std::map<std::string, int> uses_;  // of initializers
};

}  // namespace mangrove::compress
