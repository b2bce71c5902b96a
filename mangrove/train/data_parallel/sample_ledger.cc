#include "mangrove/train/data_parallel/sample_ledger.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::train {

SampleLedger::SampleLedger(const Samples& order, std::shared_ptr<const std::vector<net::Rank>> owners)
    : owners_(std::move(owners)), pending_count_(order.size()) {
  for (const std::uint32_t sample : order) pending_[owner(sample)].push_back(sample);
}

net::Rank SampleLedger::owner(std::uint32_t sample) const {
  const net::Rank rank = owners_ ? (*owners_)[sample] : kNobody;
  return disowned_.contains(rank) ? kNobody : rank;
}

const SampleLedger::Pending& SampleLedger::pending_of(net::Rank rank) const {
  static const Pending none;
  const auto found = pending_.find(rank);
  return found == pending_.end() ? none : found->second;
}

bool SampleLedger::has_for(net::Rank rank) const {
  return !pending_of(rank).empty() || !pending_of(kNobody).empty();
}

std::map<net::Rank, SampleLedger::Samples> SampleLedger::preview(const Rooms& rooms) const {
  const auto own = [&](net::Rank rank) { return std::min(pending_of(rank).size(), rooms.at(rank)); };
  const Pending& common = pending_of(kNobody);
  std::size_t room = 0;
  for (const auto& [rank, most] : rooms) room += most - own(rank);
  const std::size_t count = std::min(common.size(), room);
  std::map<net::Rank, Samples> parts;
  std::size_t room_before = 0, first = 0;
  for (const auto& [rank, most] : rooms) {
    const auto own_end = pending_of(rank).begin() + static_cast<std::ptrdiff_t>(own(rank));
    Samples samples(pending_of(rank).begin(), own_end);
    room_before += most - own(rank);
    const std::size_t last = room == 0 ? 0 : count * room_before / room;
    samples.insert(samples.end(), common.begin() + static_cast<std::ptrdiff_t>(first),
                   common.begin() + static_cast<std::ptrdiff_t>(last));
    first = last;
    if (!samples.empty()) parts[rank] = std::move(samples);
  }
  return parts;
}

std::map<net::Rank, SampleLedger::Samples> SampleLedger::assign(const Rooms& rooms) {
  std::map<net::Rank, Samples> parts = preview(rooms);
  for (const auto& [rank, samples] : parts) {
    const std::size_t own = std::min(pending_of(rank).size(), rooms.at(rank));
    take(rank, own);
    take(kNobody, samples.size() - own);
    held_[rank].push_back(samples);
    held_count_ += samples.size();
  }
  return parts;
}

void SampleLedger::take(net::Rank owner, std::size_t count) {
  if (count == 0) return;
  Pending& pending = pending_.at(owner);
  pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(count));
  pending_count_ -= count;
}

void SampleLedger::disown(net::Rank rank) {
  disowned_.insert(rank);
  const auto own = pending_.find(rank);
  if (rank == kNobody || own == pending_.end()) return;
  Pending& common = pending_[kNobody];
  common.insert(common.end(), own->second.begin(), own->second.end());
  pending_.erase(own);
}

std::span<const SampleLedger::Samples> SampleLedger::parts(net::Rank rank) const {
  const auto found = held_.find(rank);
  return found == held_.end() ? std::span<const Samples>() : found->second;
}

std::size_t SampleLedger::finish(net::Rank rank) {
  const auto found = held_.find(rank);
  MG_CHECK(found != held_.end());
  const std::size_t count = found->second.front().size();
  found->second.erase(found->second.begin());
  if (found->second.empty()) held_.erase(found);
  held_count_ -= count;
  return count;
}

std::size_t SampleLedger::give_back(net::Rank rank) {
  const auto found = held_.find(rank);
  MG_CHECK(found != held_.end());
  std::size_t count = 0;
  for (std::size_t i = found->second.size(); i-- > 0;) {
    const Samples& samples = found->second[i];
    for (auto sample = samples.rbegin(); sample != samples.rend(); ++sample)
      pending_[owner(*sample)].push_front(*sample);
    count += samples.size();
  }
  held_.erase(found);
  held_count_ -= count;
  pending_count_ += count;
  return count;
}

SampleLedger::Samples SampleLedger::unfinished() const {
  Samples samples;
  for (const auto& [rank, parts] : held_) {
    for (const Samples& part : parts) samples.insert(samples.end(), part.begin(), part.end());
  }
  for (const auto& [rank, pending] : pending_) samples.insert(samples.end(), pending.begin(), pending.end());
  return samples;
}

}  // namespace mangrove::train
