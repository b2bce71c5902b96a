#include "mangrove/infer/tiles/late_tiles.h"

namespace mangrove::infer {

std::optional<std::uint64_t> LateTiles::ask(const net::RankSet& ranks, Instant now) {
  if (inquiry_) return std::nullopt;
  inquiry_ = Inquiry{++last_request_, {ranks.begin(), ranks.end()}, {}, now + timeout_};
  return last_request_;
}

void LateTiles::take(net::Rank rank, const TileStatus& status) {
  if (inquiry_ && status.request() == inquiry_->request && inquiry_->asked.contains(rank))
    inquiry_->said[rank] = status;
}

void LateTiles::answered(const net::RankSet& team) {
  for (const net::Rank rank : team) strikes_.erase(rank);
}

std::optional<LateTiles::Found> LateTiles::conclude(Instant now) {
  if (!inquiry_ || (inquiry_->said.size() < inquiry_->asked.size() && now < inquiry_->until)) return std::nullopt;
  Found found;
  for (const net::Rank rank : inquiry_->asked) {
    const auto said = inquiry_->said.find(rank);
    const bool is_silent = said == inquiry_->said.end();
    const bool is_suspect = is_silent ? !inquiry_->said.empty() : said->second.has_work();
    if (!is_suspect) continue;
    found.has_suspects = true;
    if (++strikes_[rank] >= kStrikes) (is_silent ? found.silent : found.late).push_back(rank);
  }
  inquiry_.reset();
  return found;
}

}  // namespace mangrove::infer
