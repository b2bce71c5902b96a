#include "mangrove/train/data_parallel/balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/train/data_parallel/consistency.h"
#include "mangrove/train/data_parallel/data_split.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kMostBatches = 4;    // that one worker gets of a step
constexpr std::int64_t kUnitsPerBatch = 8;  // finer shares would be of passes too small to be fast
constexpr std::size_t kMeasured = 5;        // steps that a speed is the median of
constexpr double kNotable = 1.1;            // times as long as need be: worth other shares

bool is_by_speed(const TrainJob& job) {
  return job.balance() == "speed";
}

/// Without a server the consistency says nothing. With k_of_n a server waits for the first K answers; workers that make
/// steps of their own go on meanwhile, and their answers count later.
bool nobody_waits(const Strategy& strategy, Consistency::Kind kind) {
  using Kind = Consistency::Kind;
  if (!strategy.has_server) return false;
  return kind == Kind::async || kind == Kind::stale || (kind == Kind::k_of_n && strategy.steps_locally);
}

/// Unknown speeds become the mean of the others.
Balance::Speeds completed(Balance::Speeds speeds) {
  double sum = 0, known = 0;
  for (const auto& [rank, speed] : speeds) {
    sum += speed;
    known += speed > 0 ? 1 : 0;
  }
  for (auto& [rank, speed] : speeds) {
    if (speed <= 0) speed = known > 0 ? sum / known : 1;
  }
  return speeds;
}

/// Until the last one is done.
Seconds duration(const Balance::Shares& shares, const Balance::Speeds& speeds) {
  Seconds longest = 0;
  for (const auto& [rank, share] : shares) longest = std::max(longest, static_cast<double>(share) / speeds.at(rank));
  return longest;
}

}  // namespace

Status check_balance(const TrainJob& job) {
  if (job.balance().empty() || job.balance() == "equal") return {};
  const auto refuse = [](const std::string& why) { return make_error(Code::invalid_argument, "balance: " + why); };
  if (!is_by_speed(job)) return refuse("must be equal or speed, got '" + job.balance() + "'");
  MG_TRY(const Consistency consistency, parse_consistency(job.consistency()));
  MG_TRY(const DataSplit split, parse_split(job.split()));
  if (nobody_waits(strategy_of(job), consistency.kind)) {
    return refuse("speed is for workers that wait for each other, but with strategy '" + job.strategy() +
                  "' and consistency '" + job.consistency() + "' nobody waits; use consistency sync, or balance equal");
  }
  if (split.kind != DataSplit::Kind::iid) {
    return refuse("speed gives fast workers more of the samples, but with split '" + job.split() +
                  "' each has samples of its own; use split iid, or balance equal");
  }
  return {};
}

std::optional<std::int64_t> micro_batch_of_shares(const TrainJob& job) {
  if (!is_by_speed(job) || strategy_of(job).steps_locally) return std::nullopt;
  return job.micro_batch() > 0 ? job.micro_batch() : std::max<std::int64_t>(1, job.batch() / kUnitsPerBatch);
}

std::int64_t most_in_batch(const TrainJob& job) {
  return micro_batch_of_shares(job) ? kMostBatches * job.batch() : job.batch();
}

void SpeedMeter::add(std::int64_t samples, Seconds compute) {
  const double speed = static_cast<double>(samples) / compute;
  if (samples <= 0 || !std::isfinite(speed) || speed <= 0) return;
  recent_.push_back(speed);
  if (recent_.size() > kMeasured) recent_.pop_front();
}

/// Of an even number the upper one: disturbances make steps longer, and the first step warms up.
double SpeedMeter::speed() const {
  if (recent_.empty()) return 0;
  std::vector<double> sorted(recent_.begin(), recent_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

std::optional<Balance> Balance::of(const TrainJob& job) {
  if (!is_by_speed(job)) return std::nullopt;
  const auto micro_batch = micro_batch_of_shares(job);
  if (!micro_batch) return Balance(static_cast<std::size_t>(job.batch()), std::numeric_limits<std::size_t>::max());
  return Balance(static_cast<std::size_t>(*micro_batch), static_cast<std::size_t>(most_in_batch(job)));
}

bool Balance::observe(const Speeds& measured, std::size_t count) {
  Speeds used;
  for (const auto& [rank, speed] : measured) used[rank] = used_[rank];
  const Speeds now = completed(measured);
  if (duration(divide(used, count), now) <= kNotable * duration(divide(now, count), now)) return false;
  for (const auto& [rank, speed] : measured) used_[rank] = speed;
  return true;
}

Balance::Shares Balance::shares(const net::RankSet& ranks, std::size_t count) const {
  Speeds speeds;
  for (const net::Rank rank : ranks) {
    const auto known = used_.find(rank);
    speeds[rank] = known == used_.end() ? 0 : known->second;
  }
  return divide(speeds, count);
}

/// Each unit goes to the one who would be done with it first: then no other way to share them out is done sooner.
Balance::Shares Balance::divide(const Speeds& measured, std::size_t count) const {
  const auto is_known = [](const auto& of_rank) { return of_rank.second > 0; };
  if (std::none_of(measured.begin(), measured.end(), is_known)) {
    Shares equal;
    for (const auto& [rank, speed] : measured) equal[rank] = count;
    return equal;
  }
  const Speeds speeds = completed(measured);
  const std::size_t total = speeds.size() * count, unit = std::min(unit_, count), units = (total + unit - 1) / unit;
  Shares shares;
  std::set<std::pair<Seconds, net::Rank>> next;  // when each would be done with one unit more
  const auto offer = [&](net::Rank rank) {
    const std::size_t more = shares.at(rank) + unit;
    if (more <= most_) next.emplace(static_cast<double>(more) / speeds.at(rank), rank);
  };
  for (const auto& [rank, speed] : speeds) {
    shares[rank] = unit;
    offer(rank);
  }
  for (std::size_t given = speeds.size(); given < units; ++given) {
    const net::Rank rank = next.extract(next.begin()).value().second;
    shares[rank] += unit;
    offer(rank);
  }
  const auto largest =
      std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  largest->second -= units * unit - total;
  return shares;
}

}  // namespace mangrove::train
