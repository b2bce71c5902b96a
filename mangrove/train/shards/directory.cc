#include "mangrove/train/shards/directory.h"

#include <algorithm>
#include <optional>

namespace mangrove::train {

void ShardDirectory::stop(std::map<Wish, net::Rank>::iterator transfer) {
  --giving_[transfer->second];
  running_.erase(transfer);
}

void ShardDirectory::add(net::Rank rank, std::uint32_t shard) {
  const Wish wish{rank, shard};
  if (!holders_[shard].insert(rank).second) return;
  std::erase(waiting_, wish);
  urgent_.erase(wish);
  const auto found = running_.find(wish);
  if (found == running_.end()) return;
  ++(found->second == kLeader ? received_[rank].from_leader : received_[rank].from_others);
  stop(found);
}

void ShardDirectory::want(net::Rank rank, std::uint32_t shard) {
  const Wish wish{rank, shard};
  if (const auto found = running_.find(wish); found != running_.end()) stop(found);
  if (std::find(waiting_.begin(), waiting_.end(), wish) == waiting_.end()) {
    waiting_.push_back(wish);
  } else {
    urgent_.insert(wish);
  }
}

bool ShardDirectory::refuse(net::Rank rank, std::uint32_t shard, net::Rank source) {
  return refused_.insert({{rank, shard}, source}).second;
}

void ShardDirectory::lose(net::Rank rank) {
  std::erase_if(waiting_, [&](const Wish& wish) { return wish.first == rank; });
  std::erase_if(urgent_, [&](const Wish& wish) { return wish.first == rank; });
  for (auto transfer = running_.begin(); transfer != running_.end();) {
    const auto next = std::next(transfer);
    if (transfer->first.first == rank) stop(transfer);
    transfer = next;
  }
  for (auto& [shard, ranks] : holders_) ranks.erase(rank);
}

bool ShardDirectory::leader_is_giving(std::uint32_t shard) const {
  return std::any_of(running_.begin(), running_.end(), [&](const auto& transfer) {
    return transfer.first.second == shard && transfer.second == kLeader;
  });
}

bool ShardDirectory::may_get(const Wish& wish, net::Rank source) const {
  return source != wish.first && !refused_.contains({wish, source});
}

/// Nothing: it has to wait.
std::optional<net::Rank> ShardDirectory::source_of(const Wish& wish) const {
  std::optional<net::Rank> best;
  const auto giving = [&](net::Rank rank) {
    const auto found = giving_.find(rank);
    return found == giving_.end() ? 0 : found->second;
  };
  if (const auto holders = holders_.find(wish.second); holders != holders_.end()) {
    for (const net::Rank rank : holders->second)
      if (may_get(wish, rank) && (!best || giving(rank) < giving(*best))) best = rank;
  }
  if (best) return best;
  if (leader_is_giving(wish.second) && !urgent_.contains(wish)) return std::nullopt;
  return kLeader;
}

std::vector<ShardDirectory::Transfer> ShardDirectory::begin() {
  std::vector<Transfer> transfers;
  for (auto wish = waiting_.begin(); wish != waiting_.end();) {
    const std::optional<net::Rank> source = source_of(*wish);
    if (!source) {
      ++wish;
      continue;
    }
    running_[*wish] = *source;
    ++giving_[*source];
    transfers.push_back({wish->first, wish->second, *source});
    urgent_.erase(*wish);
    wish = waiting_.erase(wish);
  }
  return transfers;
}

ShardDirectory::Received ShardDirectory::received(net::Rank rank) const {
  const auto found = received_.find(rank);
  return found == received_.end() ? Received() : found->second;
}

}  // namespace mangrove::train
