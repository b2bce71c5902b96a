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

/// Who has which shards of a data set, and who gets which from whom. The leader has all of them and sends each to one
/// worker at a time; whoever else wants it meanwhile waits, and gets it from those who have it, from the one that is
/// giving least to others. So what leaves the leader does not grow with the workers. No input or output; threads: one
/// at a time.
class ShardDirectory {
 public:
  static constexpr net::Rank kLeader = 0;

  /// The worker has the shard: it can give it to others, and has got it if it wanted it.
  void add(net::Rank rank, std::uint32_t shard);
  /// The worker wants it. If it was told a source before, it wants another; if it is waiting for one, it has waited for
  /// too long.
  void want(net::Rank rank, std::uint32_t shard);
  /// The worker is not to be told this source of the shard any more, unless it is the leader.
  void refuse(net::Rank rank, std::uint32_t shard, net::Rank source);
  /// The worker is gone.
  void lose(net::Rank rank);

  struct Transfer {
    net::Rank to = 0;
    std::uint32_t shard = 0;
    net::Rank from = 0;
  };
  /// Those that can begin now, in the order in which they were wanted; they have begun then.
  std::vector<Transfer> begin();

  struct Received {
    std::int64_t from_leader = 0, from_others = 0;  // shards
  };
  /// By this worker so far, of those that it wanted.
  Received received(net::Rank rank) const;

 private:
  using Wish = std::pair<net::Rank, std::uint32_t>;  // who, which shard
  bool leader_is_giving(std::uint32_t shard) const;
  bool may_get(const Wish& wish, net::Rank source) const;
  std::optional<net::Rank> source_of(const Wish& wish) const;
  void stop(std::map<Wish, net::Rank>::iterator transfer);

  std::deque<Wish> waiting_;
  std::set<Wish> urgent_;                                 // of those: not to wait until another has it
  std::map<Wish, net::Rank> running_;                     // from whom
  std::map<std::uint32_t, std::set<net::Rank>> holders_;  // workers
  std::set<std::pair<Wish, net::Rank>> refused_;          // sources
  std::map<net::Rank, int> giving_;                       // transfers of each source that run
  std::map<net::Rank, Received> received_;
};

}  // namespace mangrove::train
