#include "mangrove/train/epoch_work.h"

#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/data/loader.h"

namespace mangrove::train {

std::map<net::Rank, EpochWork::Samples> EpochWork::preview(std::span<const net::Rank> ranks, std::size_t batch) const {
  std::map<net::Rank, Samples> parts;
  const std::size_t count = std::min(pending_.size(), ranks.size() * batch);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto [first, last] = data::shard(static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(i),
                                           static_cast<std::uint32_t>(ranks.size()));
    if (first < last) parts[ranks[i]] = Samples(pending_.begin() + first, pending_.begin() + last);
  }
  return parts;
}

std::map<net::Rank, EpochWork::Samples> EpochWork::assign(std::span<const net::Rank> ranks, std::size_t batch) {
  std::map<net::Rank, Samples> parts = preview(ranks, batch);
  std::size_t taken = 0;
  for (const auto& [rank, samples] : parts) {
    MG_CHECK(!held_.contains(rank));
    held_[rank] = samples;
    taken += samples.size();
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(taken));
  return parts;
}

std::size_t EpochWork::finish(net::Rank rank) {
  const auto found = held_.find(rank);
  MG_CHECK(found != held_.end());
  const std::size_t count = found->second.size();
  held_.erase(found);
  return count;
}

std::size_t EpochWork::give_back(net::Rank rank) {
  const auto found = held_.find(rank);
  MG_CHECK(found != held_.end());
  const std::size_t count = found->second.size();
  pending_.insert(pending_.begin(), found->second.begin(), found->second.end());
  held_.erase(found);
  return count;
}

}  // namespace mangrove::train
