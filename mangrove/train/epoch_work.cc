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
    held_[rank].push_back(samples);
    taken += samples.size();
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(taken));
  held_count_ += taken;
  return parts;
}

std::span<const EpochWork::Samples> EpochWork::parts(net::Rank rank) const {
  const auto found = held_.find(rank);
  return found == held_.end() ? std::span<const Samples>() : found->second;
}

std::size_t EpochWork::finish(net::Rank rank) {
  const auto found = held_.find(rank);
  MG_CHECK(found != held_.end());
  const std::size_t count = found->second.front().size();
  found->second.erase(found->second.begin());
  if (found->second.empty()) held_.erase(found);
  held_count_ -= count;
  return count;
}

std::size_t EpochWork::give_back(net::Rank rank) {
  const auto found = held_.find(rank);
  MG_CHECK(found != held_.end());
  std::size_t count = 0;
  for (std::size_t i = found->second.size(); i-- > 0;) {
    const Samples& samples = found->second[i];
    pending_.insert(pending_.begin(), samples.begin(), samples.end());
    count += samples.size();
  }
  held_.erase(found);
  held_count_ -= count;
  return count;
}

EpochWork::Samples EpochWork::unfinished() const {
  Samples samples;
  for (const auto& [rank, parts] : held_) {
    for (const Samples& part : parts) samples.insert(samples.end(), part.begin(), part.end());
  }
  samples.insert(samples.end(), pending_.begin(), pending_.end());
  return samples;
}

}  // namespace mangrove::train
