#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/sample_ledger.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Deals the samples of each epoch out to the workers, in the order of the epoch. Shares are equal or go by speed. A
/// worker gets its own samples where samples have owners. The dealer also says which samples will probably come next,
/// so that workers can load them ahead.
/// threads: one at a time.
class SampleDealer {
 public:
  /// Has no samples to deal out before open().
  explicit SampleDealer(const TrainJob& job) : job_(job), balance_(Balance::of(job)) {}

  /// data: what the workers say of the job's data, see check_data(). workers: their number; they are ranks 1 to
  /// `workers`. To be called once, before all others. errors: those of owners_of_samples().
  Status open(const Hello& data, std::size_t workers);
  void begin_epoch(std::int64_t epoch) { ledger_ = samples_of(epoch); }
  /// Goes on with these samples, and no others: those that are left of an epoch, or that a step has drawn.
  void resume(const SampleLedger::Samples& left) { ledger_ = SampleLedger(left, owners_); }

  /// The ledger of the epoch.
  SampleLedger& ledger() { return ledger_; }
  const SampleLedger& ledger() const { return ledger_; }
  /// Of each sample; empty: samples have no owner.
  std::span<const net::Rank> owners() const { return owners_ ? std::span(*owners_) : std::span<const net::Rank>(); }
  /// The remaining samples of workers that are not there go to the others. Every node can read the whole data set.
  void disown_all_but(const net::RankSet& there);

  struct Dealt {
    SampleLedger::Samples samples;
    SampleLedger::Samples next;       // the samples that it will probably get after these
    bool next_is_of_epoch_to_come{};  // `next` belongs to next_epoch
  };
  struct Deal {
    std::map<net::Rank, Dealt> works;
    std::optional<Balance::Shares> changed_shares;  // set if other speeds are used from now on
  };
  /// Gives each worker its share of the next samples: at most `count` with equal shares. Where shares go by speed, the
  /// sum is the same. speeds: those of all these workers. next_epoch: the epoch that follows; nothing: this is the last
  /// one.
  Deal deal(const Balance::Speeds& speeds, std::size_t count, std::optional<std::int64_t> next_epoch);

 private:
  SampleLedger samples_of(std::int64_t epoch) const;
  SampleLedger::Rooms rooms(const Balance::Speeds& speeds, std::size_t count, Deal& deal);

  const TrainJob& job_;
  std::optional<Balance> balance_;  // nothing: shares are equal
  Hello data_;
  std::size_t workers_ = 0;
  std::shared_ptr<const std::vector<net::Rank>> owners_;  // of each sample; null: samples have no owner
  SampleLedger ledger_;
};

}  // namespace mangrove::train
