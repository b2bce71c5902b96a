#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/sample_ledger.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Deals the samples of each epoch out to the workers: in the epoch's order, to each its own where the job says so, in
/// equal shares or by speed, and says which samples are likely to come next, so that workers can load them ahead.
/// threads: one at a time.
class SampleDealer {
 public:
  /// Deals out nothing: see open().
  explicit SampleDealer(const TrainJob& job) : job_(job), balance_(Balance::of(job)) {}

  /// data: what the job's data is like, see check_data(). workers: ranks 1 up to this. Once, before all others.
  /// errors: those of owners_of_samples().
  Status open(const Hello& data, std::size_t workers);
  void begin_epoch(std::int64_t epoch) { ledger_ = samples_of(epoch); }
  /// Goes on in an epoch of which these samples are left.
  void resume(const SampleLedger::Samples& left) { ledger_ = SampleLedger(left, owners_); }

  /// Of the epoch.
  SampleLedger& ledger() { return ledger_; }
  const SampleLedger& ledger() const { return ledger_; }
  /// What is left of the samples of workers that are not there is for the others; every node can read the whole data
  /// set.
  void disown_all_but(const net::RankSet& there);

  struct Dealt {
    SampleLedger::Samples samples;
    SampleLedger::Samples next;       // what it gets after these, as far as is known
    bool next_is_of_epoch_to_come{};  // these are of next_epoch
  };
  struct Deal {
    std::map<net::Rank, Dealt> works;
    std::optional<Balance::Shares> changed_shares;  // where they go by other speeds from now on
  };
  /// To each worker its share of the next samples: at most `count` with equal shares, and as many in all where they go
  /// by speed. speeds: of all these workers. next_epoch: that will follow; nothing: this is the last one.
  Deal deal(const Balance::Speeds& speeds, std::size_t count, std::optional<std::int64_t> next_epoch);

 private:
  SampleLedger samples_of(std::int64_t epoch) const;
  SampleLedger::Rooms rooms(const Balance::Speeds& speeds, std::size_t count, Deal& deal);

  const TrainJob& job_;
  std::optional<Balance> balance_;  // nothing: shares are equal
  Hello data_;
  std::size_t workers_ = 0;
  std::shared_ptr<const std::vector<net::Rank>> owners_;  // of the samples; null: they have none
  SampleLedger ledger_;
};

}  // namespace mangrove::train
