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

/// Checks the key `balance`: equal (also ""), or speed. errors: invalid_argument (another text; speed where nobody
/// waits for the slowest worker anyway, or where samples have owners). The message names the keys.
Status check_balance(const TrainJob& job);

/// The most samples that one worker of the job gets in one batch. With equal shares this is `batch`. Where batches are
/// shared out by speed, it is four times as many.
std::int64_t most_in_batch(const TrainJob& job);
/// For a job that shares each batch out by speed: the rows that a worker computes at once, so that a small share takes
/// less time than a large one. This is `micro_batch`, or an eighth of the batch. Returns nothing with equal shares, and
/// nothing where workers make steps of their own: there speed decides the number of steps.
std::optional<std::int64_t> micro_batch_of_shares(const TrainJob& job);

/// How fast a worker computes, by its own reports. The speed is the median of its last steps, so one disturbed step
/// does not count.
class SpeedMeter {
 public:
  /// Adds a step. Values that make no sense are ignored.
  void add(std::int64_t samples, Seconds compute);
  /// Samples per second; 0 if not known.
  double speed() const;

 private:
  std::deque<double> recent_;
};

/// Shares samples out among workers that wait for each other, in proportion to their speed, so that all finish at about
/// the same time. The total is the same as with equal shares. threads: one at a time.
class Balance {
 public:
  using Speeds = std::map<net::Rank, double>;  // samples per second; 0: not known, which counts as the mean
  using Shares = std::map<net::Rank, std::size_t>;

  /// unit: every share is a multiple of this number of samples. most: the largest share of one worker. It must be at
  /// least a unit, and at least twice any equal share.
  Balance(std::size_t unit, std::size_t most) : unit_(unit), most_(most) {}
  /// The balance that the job asks for. Nothing: shares are equal.
  static std::optional<Balance> of(const TrainJob& job);

  /// Uses these speeds from now on, if they make the workers among these ranks notably faster. Otherwise the shares
  /// stay as they are, because workers have already loaded samples for them. Returns whether the speeds are used.
  bool observe(const Speeds& measured, std::size_t count);
  /// The share of each of these ranks: at least one unit. One share is no multiple of the unit if the sum is none. The
  /// sum is what all ranks would have with `count` samples each; ranks of equal speed get `count` each.
  Shares shares(const net::RankSet& ranks, std::size_t count) const;

 private:
  Shares divide(const Speeds& speeds, std::size_t count) const;

  const std::size_t unit_, most_;
  Speeds used_;
};

}  // namespace mangrove::train
