#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// Who has which shards of a data set, and who gets which shard from whom.
///
/// The leader has all shards. A worker that wants a shard asks the leader, and the leader names a source. If a worker
/// has the shard, the source is the holder that gives the fewest shards to others at the moment. If no worker has it,
/// the leader gives it to one worker at a time; the others that want it wait until a worker has it.
///
/// right    Each shard leaves the leader about once, whatever the number of workers. A worker that has waited too long,
///          or whose source failed, gets another source, in the end the leader.
/// cost     A data set of D bytes leaves the leader once, and workers pass it on among themselves: P workers receive up
///          to P D bytes in all. Questions and answers have a few bytes for each shard.
/// source   the idea of Cohen, Incentives build robustness in BitTorrent, 2003: who has received a piece gives it to
///          others. Here the leader decides who gives.
/// threads  one at a time. No input or output.
class ShardDirectory {
 public:
  static constexpr net::Rank kLeader = 0;

  /// The worker has the shard. It can give it to others, and does not want it any more.
  void add(net::Rank rank, std::uint32_t shard);
  /// The worker wants the shard. If it has a source already, it wants another one. If it is waiting for a source, it
  /// has waited too long.
  void want(net::Rank rank, std::uint32_t shard);
  /// From now on this source of the shard is not named to the worker again, unless the source is the leader. Returns
  /// whether the source was not refused before.
  bool refuse(net::Rank rank, std::uint32_t shard, net::Rank source);
  /// The worker is gone.
  void lose(net::Rank rank);

  struct Transfer {
    net::Rank to = 0;
    std::uint32_t shard = 0;
    net::Rank from = 0;
  };
  /// The transfers that can begin now, in the order in which the shards were wanted. They count as begun.
  std::vector<Transfer> begin();

  struct Received {
    std::int64_t from_leader = 0, from_others = 0;  // shards
  };
  /// Shards that this worker wanted and has received so far.
  Received received(net::Rank rank) const;

 private:
  using Wish = std::pair<net::Rank, std::uint32_t>;  // who, which shard
  bool leader_is_giving(std::uint32_t shard) const;
  bool may_get(const Wish& wish, net::Rank source) const;
  std::optional<net::Rank> source_of(const Wish& wish) const;
  void stop(std::map<Wish, net::Rank>::iterator transfer);

  std::deque<Wish> waiting_;
  std::set<Wish> urgent_;                                 // wishes that must not wait for another worker
  std::map<Wish, net::Rank> running_;                     // transfers under way, with their source
  std::map<std::uint32_t, std::set<net::Rank>> holders_;  // workers that have each shard
  std::set<std::pair<Wish, net::Rank>> refused_;          // sources that must not be named again
  std::map<net::Rank, int> giving_;                       // transfers under way from each source
  std::map<net::Rank, Received> received_;
};

}  // namespace mangrove::train
