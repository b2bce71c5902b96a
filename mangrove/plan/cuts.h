#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/plan/layers.h"

namespace mangrove::plan {

/// All places at which a network can be cut in two. A cut is a set of layers, those before it. With each layer it
/// contains all layers that this one reads from (a downset; its last layers are an antichain). A pipeline is a sequence
/// of cuts, each contained in the next. The first cut has no layer, and the last one has all. Cuts are sorted by the
/// work before them, the smallest first.
/// source: Narayanan et al., PipeDream, SOSP 2019 (antichains); Tarnawski et al., NeurIPS 2020 (ideals).
class Cuts {
 public:
  /// work: that of each layer, for the order. If there are more than `most` cuts, only those along the order of the
  /// layers are used.
  Cuts(const Layers& network, std::span<const Seconds> work, std::size_t most = kMostCuts);

  static constexpr std::size_t kMostCuts = 4000;

  std::size_t size() const { return sets_.size(); }
  std::size_t last() const { return size() - 1; }
  bool all() const { return all_; }

  /// Whether every layer before cut a is before cut b.
  bool within(std::size_t a, std::size_t b) const;
  /// Whether every other cut contains this one or is contained in it.
  bool parts_network(std::size_t cut) const { return parts_network_[cut]; }
  /// Bytes of the values that cross the cut. 0 at the first and the last cut.
  Bytes bytes(std::size_t cut) const { return bytes_[cut]; }
  /// Layers between two cuts, ascending.
  std::vector<std::size_t> layers(std::size_t first, std::size_t last) const;
  /// Sum over the layers before each cut.
  template <class T>
  std::vector<T> sums(std::span<const T> values) const {
    std::vector<T> all(size(), T{});
    for (std::size_t cut = 0; cut < size(); ++cut)
      for (std::size_t i = 0; i < values.size(); ++i)
        if (holds(cut, i)) all[cut] += values[i];
    return all;
  }

 private:
  using Set = std::vector<std::uint64_t>;
  void enumerate(const std::vector<std::vector<std::size_t>>& reads, std::size_t most);
  void sort(std::span<const Seconds> work);
  void describe(const Layers& network);
  bool holds(std::size_t cut, std::size_t layer) const { return (sets_[cut][layer / 64] >> (layer % 64) & 1) != 0; }

  std::size_t layers_;
  bool all_ = true;
  std::vector<Set> sets_;
  std::vector<Set> before_;  // of each layer: itself and all that it depends on
  std::vector<bool> parts_network_;
  std::vector<Bytes> bytes_;
};

}  // namespace mangrove::plan
