#include "mangrove/train/data_parallel/sample_dealer.h"

#include <algorithm>
#include <utility>

#include "mangrove/train/dataset_summary.h"

namespace mangrove::train {

Status SampleDealer::open(const Hello& data, std::size_t workers) {
  data_ = data;
  workers_ = workers;
  MG_TRY(auto ranks, owners_of_samples(job_, data_, workers));
  if (!ranks.empty()) owners_ = std::make_shared<const std::vector<net::Rank>>(std::move(ranks));
  return {};
}

/// None of them done.
SampleLedger SampleDealer::samples_of(std::int64_t epoch) const {
  return SampleLedger(order_of_epoch(job_, data_, epoch), owners_);
}

void SampleDealer::disown_all_but(const net::RankSet& there) {
  for (net::Rank rank = 1; owners_ != nullptr && rank <= static_cast<net::Rank>(workers_); ++rank)
    if (!std::ranges::binary_search(there, rank)) ledger_.disown(rank);
}

SampleLedger::Rooms SampleDealer::rooms(const Balance::Speeds& speeds, std::size_t count, Deal& deal) {
  net::RankSet ranks;
  SampleLedger::Rooms equal;
  for (const auto& [rank, speed] : speeds) {
    ranks.push_back(rank);
    equal[rank] = count;
  }
  if (!balance_) return equal;
  const bool has_changed = balance_->observe(speeds, count);
  SampleLedger::Rooms shares = balance_->shares(ranks, count);
  if (has_changed) deal.changed_shares = shares;
  return shares;
}

SampleDealer::Deal SampleDealer::deal(const Balance::Speeds& speeds, std::size_t count,
                                      std::optional<std::int64_t> next_epoch) {
  Deal deal;
  const SampleLedger::Rooms room = rooms(speeds, count, deal);
  auto parts = ledger_.assign(room);
  // the first samples of the next epoch are loaded during the last step of this one
  const bool last_step = ledger_.pending_count() == 0;
  const SampleLedger to_come = last_step && next_epoch ? samples_of(*next_epoch) : SampleLedger();
  auto next = last_step ? to_come.preview(room) : ledger_.preview(room);
  for (auto& [rank, samples] : parts) deal.works[rank] = {std::move(samples), std::move(next[rank]), last_step};
  return deal;
}

}  // namespace mangrove::train
