#include "mangrove/train/data_parallel/peer_waits.h"

#include <algorithm>

#include "mangrove/train/pipeline/places.h"

namespace mangrove::train {

void PeerWaits::begin(net::Rank rank, const Work& work) {
  Wait& wait = waits_[rank] = {};
  wait.peers = {work.reduction().ranks().begin(), work.reduction().ranks().end()};
  for (const net::Rank other : ranks_of(work.pipeline())) wait.peers.insert(other);
}

bool PeerWaits::take(net::Rank rank, const Waiting& waiting, Instant now) {
  Wait& wait = waits_[rank];
  if (waiting.rank() == rank || !wait.peers.contains(waiting.rank())) return false;
  if (wait.last.rank() == 0 || waiting.progress() != wait.last.progress()) wait.since = now;
  wait.last = waiting;
  return true;
}

std::optional<net::Rank> PeerWaits::stuck_on(const net::RankSet& busy, Instant now, Seconds timeout) const {
  std::map<net::Rank, int> waiters, lost;  // by rank; links with lost parts
  for (const net::Rank rank : busy) {
    const auto wait = waits_.find(rank);
    if (wait == waits_.end()) return std::nullopt;
    const Waiting& waiting = wait->second.last;
    if (waiting.rank() == 0 || now - wait->second.since < timeout) return std::nullopt;
    ++waiters[waiting.rank()];
    const auto other = waits_.find(waiting.rank());
    if (other == waits_.end()) continue;
    const auto& sent = other->second.last.sent();
    const auto to_this = sent.find(rank);
    if (to_this == sent.end() || to_this->second <= waiting.received()) continue;
    ++lost[rank];
    ++lost[waiting.rank()];
  }
  const auto& blamed = lost.empty() ? waiters : lost;
  const auto most =
      std::max_element(blamed.begin(), blamed.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == blamed.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace mangrove::train
