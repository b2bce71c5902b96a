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

/// Which worker has which samples of one pass over a data set. Every sample is pending, held by exactly one rank, or
/// done. So each sample is counted exactly once, whichever ranks are lost. A rank may hold several parts, and finishes
/// them in the order in which it got them. Samples may have an owner, which alone gets them until the owner is known to
/// be gone. No input or output; threads: one at a time.
class SampleLedger {
 public:
  using Samples = std::vector<std::uint32_t>;

  SampleLedger() = default;
  /// order: the samples in the order in which they are to be visited.
  explicit SampleLedger(const Samples& order) : SampleLedger(order, {}) {}
  /// owners: the owner of each sample, by the sample's number. kNobody, or no vector, means that any rank may have it.
  SampleLedger(const Samples& order, std::shared_ptr<const std::vector<net::Rank>> owners);
  static constexpr net::Rank kNobody = 0;

  /// The most samples that each rank is to get.
  using Rooms = std::map<net::Rank, std::size_t>;
  /// Gives each rank the next of its own samples, up to its room. Then it divides the next pending samples without an
  /// owner, as many as there is room for. Each rank gets a contiguous part in proportion to the room that it has left,
  /// so with equal rooms the sizes differ by at most one. Ranks that get no sample are left out of the result.
  std::map<net::Rank, Samples> assign(const Rooms& rooms);
  /// The result of assign(), without giving the samples out.
  std::map<net::Rank, Samples> preview(const Rooms& rooms) const;

  /// The rank has done the oldest part that it holds. Returns the number of samples of that part.
  std::size_t finish(net::Rank rank);
  /// The rank will not do the samples that it holds. They go back to the front of the pending samples, in their old
  /// order. Returns their number.
  std::size_t give_back(net::Rank rank);

  /// The rank loses its ownership. Its samples that are pending, or given back later, may go to any rank.
  void disown(net::Rank rank);

  bool holds(net::Rank rank) const { return held_.contains(rank); }
  /// The parts that the rank holds, the oldest first.
  std::span<const Samples> parts(net::Rank rank) const;
  /// Samples that nobody holds.
  std::size_t pending_count() const { return pending_count_; }
  /// Whether assign() would give the rank any sample.
  bool has_for(net::Rank rank) const;
  /// The samples that are not done: first those that are held, by rank, then the pending ones in their order.
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
