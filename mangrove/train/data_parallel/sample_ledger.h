#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// Who has which samples of one pass over a data set. Every sample is pending, in the hands of exactly one rank, or
/// done; so whatever ranks are lost, each sample is counted exactly once. A rank may hold several parts, which it
/// finishes in the order in which it got them. Samples may have an owner, which alone gets them until it is known not
/// to come for them. No input or output; threads: one at a time.
class SampleLedger {
 public:
  using Samples = std::vector<std::uint32_t>;

  SampleLedger() = default;
  /// Samples in the order in which they are to be visited.
  explicit SampleLedger(const Samples& order) : SampleLedger(order, {}) {}
  /// owners: of each sample by its number; kNobody (or no vector): whoever comes.
  SampleLedger(const Samples& order, std::shared_ptr<const std::vector<net::Rank>> owners);
  static constexpr net::Rank kNobody = 0;

  /// The most samples that each rank is to get.
  using Rooms = std::map<net::Rank, std::size_t>;
  /// Gives each rank the next of its own samples, up to its room; and of those without an owner the next
  /// min(pending, room left), to each a contiguous part in proportion to its room left: in equal rooms sizes differ by
  /// at most one then. Ranks that get none are left out.
  std::map<net::Rank, Samples> assign(const Rooms& rooms);
  /// What assign() would give, without giving it.
  std::map<net::Rank, Samples> preview(const Rooms& rooms) const;

  /// The rank has done the oldest part that it holds. Returns how many samples that were.
  std::size_t finish(net::Rank rank);
  /// The rank will not do what it holds: its samples go back to the front of the pending ones, in the order in which
  /// they were. Returns how many.
  std::size_t give_back(net::Rank rank);

  /// The rank's own samples, pending or given back later, are for whoever comes.
  void disown(net::Rank rank);

  bool holds(net::Rank rank) const { return held_.contains(rank); }
  /// The parts that the rank holds, the oldest first.
  std::span<const Samples> parts(net::Rank rank) const;
  /// Samples that nobody holds.
  std::size_t pending_count() const { return pending_count_; }
  /// Whether assign() would give the rank some.
  bool has_for(net::Rank rank) const;
  /// Samples that are not done: those held, by rank, then the pending ones, in their order.
  Samples unfinished() const;
  std::size_t unfinished_count() const { return pending_count_ + held_count_; }
  /// Nothing is pending and nobody holds anything.
  bool done() const { return pending_count_ == 0 && held_.empty(); }

 private:
  using Pending = std::deque<std::uint32_t>;
  net::Rank owner(std::uint32_t sample) const;
  const Pending& pending_of(net::Rank rank) const;
  void take(net::Rank owner, std::size_t count);

  std::shared_ptr<const std::vector<net::Rank>> owners_;
  std::set<net::Rank> disowned_;
  std::map<net::Rank, Pending> pending_;            // by owner
  std::size_t pending_count_ = 0, held_count_ = 0;  // samples
  std::map<net::Rank, std::vector<Samples>> held_;
};

}  // namespace mangrove::train
