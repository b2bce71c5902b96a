#include "mangrove/job/requests.h"

#include <algorithm>

namespace mangrove::job {

std::uint64_t Requests::add(net::Rank rank, std::uint64_t subject, Instant now) {
  ranks_[rank].asked[++last_] = {subject, now};
  return last_;
}

std::optional<std::uint64_t> Requests::find(net::Rank rank, std::uint64_t request) const {
  const auto of_rank = ranks_.find(rank);
  if (of_rank == ranks_.end()) return std::nullopt;
  const auto asked = of_rank->second.asked.find(request);
  if (asked == of_rank->second.asked.end()) return std::nullopt;
  return asked->second.subject;
}

void Requests::answer_in_part(net::Rank rank, std::uint64_t request, Instant now) {
  OfRank& of_rank = ranks_.at(rank);
  if (of_rank.asked.begin()->first == request) of_rank.heard = now;
}

void Requests::answer(net::Rank rank, std::uint64_t request, Instant now) {
  answer_in_part(rank, request, now);
  ranks_.at(rank).asked.erase(request);
}

Instant Requests::silent_from(net::Rank rank) const {
  if (!is_asked(rank)) return Instant::never();
  const OfRank& of_rank = ranks_.at(rank);
  return std::max(of_rank.heard, of_rank.asked.begin()->second.at) + timeout_;
}

net::RankSet Requests::asked() const {
  net::RankSet ranks;
  for (const auto& [rank, of_rank] : ranks_)
    if (!of_rank.asked.empty()) ranks.push_back(rank);
  return ranks;
}

std::vector<std::uint64_t> Requests::subjects(net::Rank rank) const {
  std::vector<std::uint64_t> subjects;
  const auto of_rank = ranks_.find(rank);
  if (of_rank == ranks_.end()) return subjects;
  for (const auto& [request, asked] : of_rank->second.asked) subjects.push_back(asked.subject);
  return subjects;
}

std::vector<std::uint64_t> Requests::forget_rank(net::Rank rank) {
  std::vector<std::uint64_t> unanswered = subjects(rank);
  ranks_.erase(rank);
  return unanswered;
}

void Requests::forget_subject(std::uint64_t subject) {
  for (auto& [rank, of_rank] : ranks_)
    std::erase_if(of_rank.asked, [&](const auto& entry) { return entry.second.subject == subject; });
}

}  // namespace mangrove::job
