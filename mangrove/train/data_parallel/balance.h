#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// `balance` is equal (also ""), or speed where that makes sense. errors: invalid_argument: it is another text; with
/// speed: nobody waits for the slowest anyway, or samples have owners: names the keys.
Status check_balance(const TrainJob& job);

/// The most samples that one of the job's workers gets in one batch: `batch` with equal shares, four times as many
/// where every batch is shared out by speed.
std::int64_t most_in_batch(const TrainJob& job);
/// Of a job that shares each batch out by speed: rows that its workers compute at once, so that a small share takes
/// less time: `micro_batch`, else an eighth of the batch. Nothing: with equal shares, and where workers make steps of
/// their own, whose number is what speed decides.
std::optional<std::int64_t> micro_batch_of_shares(const TrainJob& job);

/// How fast a worker computes, by what it tells itself: the median of its last steps, so that a single one in which it
/// was disturbed does not count.
class SpeedMeter {
 public:
  /// A step; what makes no sense is ignored.
  void add(std::int64_t samples, Seconds compute);
  /// Samples per second; 0: not known.
  double speed() const;

 private:
  std::deque<double> recent_;
};

/// Shares samples out among workers that wait for each other, so that all are done at about the same time. Together
/// they get what they would get with equal shares. threads: one at a time.
class Balance {
 public:
  using Speeds = std::map<net::Rank, double>;  // samples per second; 0: not known, and counts as the mean
  using Shares = std::map<net::Rank, std::size_t>;

  /// unit: that shares are multiples of; most: of one worker, twice as much as any equal share, and as a unit.
  Balance(std::size_t unit, std::size_t most) : unit_(unit), most_(most) {}
  /// That of the job; nothing with equal shares.
  static std::optional<Balance> of(const TrainJob& job);

  /// Goes by these speeds from now on, if the ranks that are in it get notably faster by that; otherwise shares stay as
  /// they are, so that samples that workers have loaded ahead are theirs. Returns whether it does.
  bool observe(const Speeds& measured, std::size_t count);
  /// For each of these ranks at least one unit, less in one share if the sum is no multiple of it. Each has `count`
  /// where all are equally fast, and the sum is always that of such shares.
  Shares shares(const net::RankSet& ranks, std::size_t count) const;

 private:
  Shares divide(const Speeds& speeds, std::size_t count) const;

  const std::size_t unit_, most_;
  Speeds used_;
};

}  // namespace mangrove::train
