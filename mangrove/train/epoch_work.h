#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// Who has which samples of one pass over a data set. Every sample is pending, in the hands of exactly one rank, or
/// done; so whatever ranks are lost, each sample is counted exactly once. A rank may hold several parts, which it
/// finishes in the order in which it got them. No input or output; threads: one at a time.
class EpochWork {
 public:
  using Samples = std::vector<std::uint32_t>;

  EpochWork() = default;
  /// Samples in the order in which they are to be visited.
  explicit EpochWork(const Samples& order) : pending_(order.begin(), order.end()) {}

  /// Takes the next min(pending, |ranks| * batch) samples and gives each rank a contiguous part; sizes differ by at
  /// most one, and ranks that get none are left out.
  std::map<net::Rank, Samples> assign(std::span<const net::Rank> ranks, std::size_t batch);
  /// What assign() would give, without giving it.
  std::map<net::Rank, Samples> preview(std::span<const net::Rank> ranks, std::size_t batch) const;

  /// The rank has done the oldest part that it holds. Returns how many samples that were.
  std::size_t finish(net::Rank rank);
  /// The rank will not do what it holds: its samples go back to the front of the pending ones, in the order in which
  /// they were. Returns how many.
  std::size_t give_back(net::Rank rank);

  bool holds(net::Rank rank) const { return held_.contains(rank); }
  /// The parts that the rank holds, the oldest first.
  std::span<const Samples> parts(net::Rank rank) const;
  /// Samples that nobody holds.
  std::size_t pending_count() const { return pending_.size(); }
  /// Samples that are not done: those held, by rank, then the pending ones, in their order.
  Samples unfinished() const;
  std::size_t unfinished_count() const { return pending_.size() + held_count_; }
  /// Nothing is pending and nobody holds anything.
  bool done() const { return pending_.empty() && held_.empty(); }

 private:
  std::deque<std::uint32_t> pending_;
  std::size_t held_count_ = 0;  // samples
  std::map<net::Rank, std::vector<Samples>> held_;
};

}  // namespace mangrove::train
